"""The web process: `python -m gunicorn -c python:sasweb.web_server sasweb.asgi:application`.

    /healthz      answered here, so that it answers even while every thread is busy
    /events/…     streams that stay open without holding a thread (orders.live)
    known reads   whether an order is still as its reader knows it, without a thread each (orders.api.known_reads)
    new orders    those of a moment are stored together, by one thread (orders.api.new_orders)
    the rest      Django through WSGI in threads, which costs a fifth of the CPU time that its ASGI handler does; an
                  answer that is to wait is held here, without a thread (sasweb.holding)

A request's body is read here, before it is given a thread: a slow sender holds no thread, a chunked body gets the
length that WSGI needs, and a body that is too large is not kept.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from io import BytesIO
from typing import Any, TypeAlias
from urllib.parse import quote_from_bytes

import structlog
from a2wsgi import WSGIMiddleware
from a2wsgi.wsgi import WSGIResponder
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.utils.module_loading import import_string

from sasweb import descriptors, logs, shutdown
from sasweb.bare_answers import (
    SECURITY_HEADERS,
    Message,
    Scope,
    Send,
    answer,
    refusal,
    send_answer,
    with_security_headers,
)
from sasweb.bodies import largest_body
from sasweb.charsets import Headers, without_charset
from sasweb.holding import HOLD, RESUMED
from sasweb.problems import concerns_api
from sasweb.proxies import see_through
from sasweb.refusals import BUSY, REFUSED, Refusals
from sasweb.turns import Turn, Turns

log = structlog.get_logger()

Receive: TypeAlias = Callable[[], Awaitable[Message]]

BODY_TIMEOUT = 30.0
"""Seconds that a client has to send a whole body."""

PASSWORDS_AT_ONCE = 2
"""Requests with a password that are with the threads at a time: if one hangs, the other goes on."""
PASSWORDS_REST = 3.0
"""Times as long as such a request took, its place stays empty, so that a flood takes half of one processor at most."""
PATIENCE = 5.0
"""Seconds that a request with a password waits for its turn. After that it gets 503 without being checked."""

MOST_DISCARDED = 32 * 1024 * 1024
"""Bytes of an oversized body that are read and dropped, so that the sender gets as far as reading the answer."""

QUERY_SAFE = "".join(map(chr, range(0x21, 0x7F)))

BODY = "sasweb.body"
"""The body in the scope of a request that a thread answers, as a file."""


class Pages(WSGIMiddleware):
    """Has threads answer requests with a WSGI application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        await Responder(self.app, self.executor, 0)(scope, receive, send)  # type: ignore[arg-type]


class Responder(WSGIResponder):
    """One answer. Its thread never waits for the event loop, which would cost it a third of a millisecond.

    So the queue of what it sends is unbounded. A thread that waited for a slow or vanished reader would be lost, and
    the answers are small.
    """

    def send(self, message: Message | None) -> None:  # type: ignore[override]
        """Hands a part of the answer to the event loop."""
        self.loop.call_soon_threadsafe(self.send_queue.put_nowait, message)


def answer_page(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """The WSGI application: Django, given the body that has been read already."""
    environ["wsgi.input"] = environ["asgi.scope"][BODY]
    try:
        return wsgi_application(environ, start_response)
    except Exception:
        # Django answers what a view raises, but not what is raised while it makes the request or the error page.
        scope = environ["asgi.scope"]
        text = "something went wrong on our side"
        bare = refusal("internal_error", path=scope["path"], headers=scope["headers"], text=text)
        headers = [(name.decode(), value.decode()) for name, value in (*bare.headers, *SECURITY_HEADERS)]
        request_id = dict(headers)["x-request-id"]
        path = environ["PATH_INFO"]
        log.exception(
            "request failed", action="request", path=path, request_id=request_id, **logs.about(path)
        )
        start_response("500 Internal Server Error", headers)
        return [bare.body]


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
os.environ.setdefault("DATABASE_POOL", "1")

wsgi_application = get_wsgi_application()
# By name, as below, because it can only be imported now that Django is set up.
import_string("orders.engine.runtime.statements.prepare_frequent_statements")()
import_string("orders.tracing.spans.start")("web")
pages = Pages(answer_page, workers=settings.WEB_THREADS)  # type: ignore[arg-type]

request_log = import_string("orders.services.request_log.REQUESTS")
streams = import_string("orders.live.streams.make_streams")(connections=descriptors.most_connections())

known_reads = import_string("orders.api.known_reads.KnownReads")()
new_orders = import_string("orders.api.new_orders.NewOrders")()

refusals = Refusals()
turns = Turns(most=settings.WEB_THREADS // 4)
password_turns = Turns(most=PASSWORDS_AT_ONCE, rest=PASSWORDS_REST)
checks_password = import_string("orders.access.limited_requests.checks_password")


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application: passes each request to the part that answers it."""
    if scope["type"] == "lifespan":
        await handle_lifespan(receive, send)
        return
    see_through(scope, settings.CONFIG.trusted_proxies)
    if scope["path"] == "/healthz" and scope["method"] in ("GET", "HEAD"):
        await answer(scope, send, 200, b"ok\n")
    elif scope["path"].startswith("/events/"):
        await streams(scope, receive, with_security_headers(scope, send))
    elif not await known_reads.answer(scope, send):
        await serve_page(scope, receive, send)


async def handle_lifespan(receive: Receive, send: Send) -> None:
    """Handles the server's own start and stop."""
    await receive()
    shutdown.watch_signals(streams.stop)
    request_log.start()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await asyncio.to_thread(request_log.stop)
    await asyncio.to_thread(shutdown.close_pool)
    await send({"type": "lifespan.shutdown.complete"})


async def serve_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body, then has a thread answer the request, unless its like was refused a moment ago, and holds the
    answer if it is to wait."""
    limit = largest_body(scope["path"])
    try:
        body, is_too_large = await read_body(scope, receive, limit=limit)
    except TimeoutError:
        await refuse_late_body(scope, send)
        return
    except ConnectionError:
        return
    if not is_too_large and await new_orders.answer(scope, body, send):
        return
    headers, is_foreign_form = without_charset(scope["headers"])
    if is_foreign_form and not concerns_api(scope["path"]):  # which takes no form
        await answer(scope, send, 415, b"a form must be in UTF-8\n")
        return
    length = limit + 1 if is_too_large else len(body)
    page_scope = {**scope_for_wsgi(scope, headers, length), BODY: BytesIO(body)}
    del body
    answered = await have_answered(page_scope, receive, send)
    if hold := page_scope.pop(HOLD, None):
        page_scope[BODY].close()  # frees the body, which Django's request may refer to for a while
        page_scope = {**scope_for_wsgi(page_scope, page_scope["headers"], 0), BODY: BytesIO()}
        outcome = await streams.hold(hold, answered, receive, send)
        if outcome:
            page_scope[RESUMED] = outcome
            await have_answered(page_scope, receive, send)


async def have_answered(scope: Scope, receive: Receive, send: Send) -> Sequence[Message]:
    """Has a thread answer a request. Returns the answer if it is to be held, and has not been sent."""
    parts: list[Message] = []

    async def send_part(message: Message) -> None:
        if message["type"] == "http.response.body" and scope["method"] == "HEAD":
            message = {**message, "body": b""}
        if message.get("status", 0) >= 400:
            scope.pop(HOLD, None)  # what went wrong afterwards is not held
        if REFUSED in scope or HOLD in scope:
            parts.append(message)
        turn.end()  # the thread has done its work, however long the client takes to read
        if password_turn:
            password_turn.end()
        if HOLD not in scope:
            await send(message)

    host, _port = scope.get("client") or ("", 0)
    turn = await turns.take(host)
    password_turn: Turn | None = None
    try:
        password_turn = await take_password_turn(scope)
        if repeated := refusals.find(scope):
            for message in repeated:
                await send(message)
        else:
            await pages(scope, receive, send_part)
            refusals.note(scope, parts)
    finally:
        turn.end()
        if password_turn:
            password_turn.end()
    return parts


async def refuse_late_body(scope: Scope, send: Send) -> None:
    """Answers 408, after which the connection ends: the rest of the body may still come."""
    text = "the request's body did not arrive in time"
    bare = refusal("request_timeout", path=scope["path"], headers=scope["headers"], text=text)
    bare.headers.append((b"connection", b"close"))
    await send_answer(scope, send, bare)


async def take_password_turn(scope: Scope) -> Turn | None:
    """Waits for the turn of a request with a password. None if it has none. If it has waited too long, its scope then
    says so, and its turn is one of those that are only refused: many may be at the same moment."""
    if not checks_password(scope["method"], scope["path"]):
        return None
    try:
        async with asyncio.timeout(PATIENCE):
            return await password_turns.take("password")
    except TimeoutError:
        scope[BUSY] = True
        return await password_turns.take("refused")


async def read_body(scope: Scope, receive: Receive, *, limit: int) -> tuple[bytes, bool]:
    """The body, and whether it exceeds `limit` bytes, in which case none of it is kept.

    Raises `ConnectionError` when the client disconnects before the end, and `TimeoutError` after `BODY_TIMEOUT`.
    """
    headers = dict(scope["headers"])
    announced = int(headers.get(b"content-length", 0))
    if announced > MOST_DISCARDED or (announced > limit and b"expect" in headers):
        return b"", True  # it will not be read to its end, or the client waits for permission to send it
    body, size, more = bytearray(), 0, announced > 0 or b"transfer-encoding" in headers
    loop = asyncio.get_running_loop()
    ends = loop.time() + BODY_TIMEOUT
    async with asyncio.timeout_at(ends):
        while more and size <= MOST_DISCARDED:
            message = await receive()
            if loop.time() > ends:
                raise TimeoutError  # where there is always something to receive, nothing is ever cancelled
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client disconnected before the end of the body")
            chunk, more = message.get("body", b""), message.get("more_body", False)
            size += len(chunk)
            if size <= limit and announced <= limit:
                body += chunk
            else:
                body.clear()
    return bytes(body), size > limit


def scope_for_wsgi(scope: Scope, headers: Headers, length: int) -> Scope:
    """The scope with these headers, the body's actual length and a query string in ASCII."""
    headers = [
        (name, value) for name, value in headers if name not in (b"content-length", b"transfer-encoding")
    ]
    headers.append((b"content-length", str(length).encode()))
    query = scope["query_string"]
    if not query.isascii():
        query = quote_from_bytes(query, safe=QUERY_SAFE).encode()
    return {**scope, "headers": headers, "query_string": query}
