"""The HTTP side: calls to the three services, with their faults, and the pages that tests use."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from aiohttp import web

from sandbox import effects, ledger, stock
from sandbox.answers import Answer, InvalidRequest, bad, good
from sandbox.commits import Commits
from sandbox.faults import FAULTY, SERVICES, FaultBoard, happens
from sandbox.limits import find_refusal
from sandbox.mailbox import Mailbox
from sandbox.operations import Call, find_operation, read_call, read_cursor, read_key, read_since, read_sku
from sandbox.parcels import Parcels

LARGEST_BODY = 2**20
"""In bytes."""
PAGE = 100
"""Effects that one answer lists at most."""
SLOW_SECONDS = 3.0
"""Seconds that `card_slow` takes longer."""


def respond(answer: Answer) -> web.Response:
    """`answer` as HTTP."""
    return web.Response(
        status=answer.status, text=answer.body, content_type="application/json", headers=answer.headers
    )


def cut(request: web.Request) -> web.Response:
    """Cuts the connection without an answer. The response it returns is never sent."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


@web.middleware
async def errors_as_json(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answers every error with the same kind of JSON object."""
    try:
        return await handler(request)
    except InvalidRequest as error:
        return respond(error.answer)
    except web.HTTPRequestEntityTooLarge:
        return respond(bad(413, "body_too_large", f"the body is larger than {LARGEST_BODY} bytes"))
    except web.HTTPMethodNotAllowed as error:
        response = respond(bad(405, "method_not_allowed", f"use {', '.join(sorted(error.allowed_methods))}"))
        response.headers["Allow"] = error.headers["Allow"]
        return response
    except web.HTTPException as error:
        return respond(bad(error.status, "not_found" if error.status == 404 else "http_error", error.reason))


class _CutError(Exception):
    """Raised when a fault cuts the connection."""


class Calls:
    """The running calls, one at a time for a key, unless keys are not recognised. As in a real service, a call goes on
    when its client disconnects."""

    def __init__(self, commits: Commits, faults: FaultBoard) -> None:
        self._commits = commits
        self._faults = faults
        self._running: Counter[tuple[str, str]] = Counter()
        self._tasks: set[asyncio.Task[Answer | None]] = set()

    async def handle(self, request: web.Request) -> web.Response:
        """`POST /{service}/{operation}`."""
        service = request.match_info["service"]
        if self._faults[service].down:
            return cut(request)
        operation = find_operation(service, request.match_info["operation"])
        key = read_key(request.headers.get("Idempotency-Key"))
        call = read_call(operation, key, await request.read())
        keyless = self._faults[service].keyless
        is_new = keyless or not self._commits.is_answered(service, key)
        if is_new and not keyless and self._running[service, key]:
            return respond(
                bad(409, "in_progress", "the first call with this Idempotency-Key is still running")
            )
        client_gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = self._start(call, is_new, client_gone)
        try:
            answer = await asyncio.shield(task)
        except asyncio.CancelledError:
            if not client_gone.done():
                client_gone.set_result(None)
            raise
        return cut(request) if answer is None else respond(answer)

    async def inquire(self, request: web.Request) -> web.Response:
        """`GET /{service}/calls?key=KEY`: what has become of the call with this key."""
        service = request.match_info["service"]
        if self._faults[service].down:
            return cut(request)
        key = read_key(request.query.get("key"))
        if (failure := await self._failure_of_reading(request, service)) is not None:
            return failure
        is_running = (
            self._running[service, key] > 0
        )  # before the answer is read, which a call may keep meanwhile
        return respond(effects.report(self._commits.answer(service, key), is_running=is_running))

    async def list_effects(self, request: web.Request) -> web.Response:
        """`GET /{service}/effects?since=TIME&after=CURSOR`: a page of the effects since then, oldest first."""
        service = request.match_info["service"]
        if self._faults[service].down:
            return cut(request)
        since, after = read_since(request.query.get("since")), read_cursor(request.query.get("after"))
        if (failure := await self._failure_of_reading(request, service)) is not None:
            return failure
        page = await self._commits.read_effects(service, since=ledger.stamp(since), after=after, most=PAGE)
        return web.Response(text=page, content_type="application/json")

    async def list_stock(self, request: web.Request) -> web.Response:
        """`GET /warehouse/stock?after=SKU`: a page of how many are left of what it counts, by SKU."""
        if self._faults["warehouse"].down:
            return cut(request)
        after = read_sku(request.query.get("after"))
        if (failure := await self._failure_of_reading(request, "warehouse")) is not None:
            return failure
        return respond(good(await self._commits.read(stock.read_page, after=after, most=PAGE)))

    async def _failure_of_reading(self, request: web.Request, service: str) -> web.Response | None:
        """Applies the faults to a call that only reads. Returns the response that they make of it, if they do."""
        client_gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            failure = await self._apply_faults(service, client_gone)
        except _CutError:
            return cut(request)
        finally:
            client_gone.cancel()
        return None if failure is None else respond(failure)

    def stop(self) -> None:
        """Cancels the running calls: effects that have not happened yet do not happen."""
        for task in self._tasks:
            task.cancel()

    def _start(
        self, call: Call, is_new: bool, client_gone: asyncio.Future[None]
    ) -> "asyncio.Task[Answer | None]":
        name = (call.operation.service, call.key)
        task = asyncio.create_task(self._run(call, is_new, client_gone))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if is_new:
            self._running[name] += 1
            task.add_done_callback(lambda _: self._end(name))
        return task

    def _end(self, name: tuple[str, str]) -> None:
        self._running[name] -= 1
        if not self._running[name]:
            del self._running[name]

    async def _run(self, call: Call, is_new: bool, client_gone: asyncio.Future[None]) -> Answer | None:
        """The answer, or None when the connection is to be cut."""
        service, method = call.operation.service, call.payment_method
        slow = SLOW_SECONDS if is_new and method == effects.SLOW else 0.0
        hangs = is_new and method == effects.HANGS
        try:
            failure = await self._apply_faults(service, client_gone, slow=slow, hangs=hangs)
        except _CutError:
            return None
        if failure is not None:
            return failure
        faults = self._faults[service]
        refuse, refusal = happens(faults.refuse_rate), find_refusal(call, faults)
        try:
            answer = await self._commits.write(
                partial(effects.perform, call=call, refuse=refuse, keyless=faults.keyless, refusal=refusal)
            )
        except sqlite3.Error:
            return bad(500, "ledger_failed", "the ledger could not store the call; nothing was done")
        lost = (
            answer.is_recorded
            and not answer.refused_by_fault
            and happens(self._faults[service].lost_reply_rate)
        )
        return None if lost else answer

    async def _apply_faults(
        self, service: str, client_gone: asyncio.Future[None], *, slow: float = 0.0, hangs: bool = False
    ) -> Answer | None:
        """Applies the faults that come before an effect, each as it is set at that moment. Returns the service's
        temporary failure, if it has one. Raises `_CutError` when the connection is to be cut."""
        await asyncio.sleep(self._faults[service].latency() + slow)
        if self._faults[service].down:
            raise _CutError
        if hangs or happens(self._faults[service].hang_rate):
            await self._faults.hold(client_gone)
            raise _CutError
        if happens(self._faults[service].error_rate):
            status = self._faults[service].error_status
            return bad(status, "injected_error", "the service has a temporary failure")
        return None


class Pages:
    """The pages on which tests read the ledger and set faults."""

    def __init__(self, commits: Commits, faults: FaultBoard) -> None:
        self._commits = commits
        self._faults = faults

    async def health(self, request: web.Request) -> web.Response:
        """`GET /_health`."""
        return respond(good({"status": "ok"}))

    async def ledger(self, request: web.Request) -> web.Response:
        """`GET /_ledger/{service}`."""
        array = await self._commits.read_array(request.match_info["service"])
        return web.Response(text=array, content_type="application/json")

    async def show_faults(self, request: web.Request) -> web.Response:
        """`GET /_faults`."""
        shown = self._faults.show()
        return respond(good({**shown, "warehouse": await self._counted(shown["warehouse"])}))

    async def set_faults(self, request: web.Request) -> web.Response:
        """`PUT /_faults/{service}`."""
        service, raw = request.match_info["service"], await request.read()
        shown = self._faults.change(service, raw)
        if "stock" in json.loads(raw):
            await self._commits.write(partial(stock.set_faults, stock=shown["stock"]))
        return respond(good(await self._counted(shown) if service == "warehouse" else shown))

    async def reset_faults(self, request: web.Request) -> web.Response:
        """`DELETE /_faults`."""
        self._faults.reset()
        await self._commits.write(partial(stock.set_faults, stock={}))
        return respond(good(self._faults.show()))

    async def _counted(self, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        """The warehouse's faults, with what is left since in place of what was set."""
        counted = await self._commits.read(stock.read_faults)
        return {**shown, "stock": {sku: counted.get(sku, 0) for sku in shown["stock"]}}


def make_app(commits: Commits, faults: FaultBoard, calls: Calls) -> web.Application:
    """Builds the web application."""
    pages = Pages(commits, faults)
    app = web.Application(client_max_size=LARGEST_BODY, middlewares=[errors_as_json])
    app.router.add_post("/{service:" + "|".join(SERVICES) + "}/{operation}", calls.handle)
    app.router.add_get("/{service:" + "|".join(SERVICES) + "}/calls", calls.inquire)
    app.router.add_get("/{service:" + "|".join(SERVICES) + "}/effects", calls.list_effects)
    app.router.add_get("/warehouse/stock", calls.list_stock)
    app.router.add_get("/_ledger/{service:" + "|".join(FAULTY) + "}", pages.ledger)
    app.router.add_put("/_faults/{service:" + "|".join(FAULTY) + "}", pages.set_faults)
    app.router.add_get("/_faults", pages.show_faults)
    app.router.add_delete("/_faults", pages.reset_faults)
    app.router.add_get("/_health", pages.health)
    app.router.add_get("/_parcels/{tracking}", Parcels(commits).show)
    Mailbox(commits).add_to(app)
    return app
