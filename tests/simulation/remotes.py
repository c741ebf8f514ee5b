"""The remote services of a simulation: the sandbox's own code, without the network and with its ledger in memory.

A call goes on when its caller dies, as it does at a real service.
"""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
from aiohttp import web

from orders.agents.answers import classify, read_error, read_object, retry_after_seconds
from orders.agents.transport import CALL_TIMEOUT
from orders.engine.contracts import Agent, Done, Finding, Json, NotDone, Unknown
from orders.engine.errors import Transient
from sandbox import ledger
from sandbox.answers import Answer, InvalidRequest
from sandbox.app import Calls, respond
from sandbox.faults import FAULTY, SERVICES, FaultBoard, happens
from tests.simulation.database import EPOCH
from tests.simulation.kernel import Kernel, Process
from tests.simulation.virtual import VirtualLoop

LATEST = dict.fromkeys(FAULTY, 4.5) | {"payments": 1.0}
"""Seconds that a late request is on its way at most: less than the service's settle time, which is what that is for."""


class MemoryLedger:
    """What the sandbox's `Commits` are to its calls, on a database in memory."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        ledger.make_tables(self.connection)

    async def write(self, job: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Runs `job` in a transaction."""
        self.connection.execute("BEGIN")
        answer = job(self.connection)
        self.connection.execute("COMMIT")
        return answer

    def is_answered(self, service: str, key: str) -> bool:
        """Whether there is an answer to `key`."""
        return ledger.is_answered(self.connection, service, key)

    def answer(self, service: str, key: str) -> Answer | None:
        """The answer to `key`, if there is one."""
        return ledger.read_answer(self.connection, service, key)

    def effects(self, service: str) -> list[dict[str, Any]]:
        """The effects of a service, or its emails, newest last."""
        query, values = (ledger.MAIL, ()) if service == "mail" else (ledger.EFFECTS, (service,))
        return [json.loads(row) for (row,) in self.connection.execute(query, values)]


class Connection:
    """The connection of one call. A fault aborts it."""

    def __init__(self) -> None:
        self.is_cut = False

    def abort(self) -> None:
        """Cuts the connection without an answer."""
        self.is_cut = True


class Incoming:
    """One HTTP request, as the sandbox's handlers use it."""

    def __init__(self, service: str, operation: str, key: str, body: Json) -> None:
        self.match_info = {"service": service, "operation": operation}
        self.headers = {"Idempotency-Key": key}
        self.query = {"key": key}
        self.transport = Connection()
        self._body = body

    async def read(self) -> bytes:
        """The body."""
        return json.dumps(self._body).encode()


class RemoteServices:
    """The process in which the sandbox runs."""

    def __init__(self, kernel: Kernel) -> None:
        self.ledger = MemoryLedger()
        self.faults = FaultBoard()
        self.calls = Calls(self.ledger, self.faults)  # type: ignore[arg-type]
        self.loop: VirtualLoop
        self._kernel = kernel
        self._late: dict[str, float] = {}
        self._garbled: dict[str, float] = {}
        self._process = Process("sandbox")
        kernel.spawn(self._process, "loop", self._run)

    def ledgers(self) -> dict[str, list[dict[str, Any]]]:
        """The effects of each service."""
        return {service: self.ledger.effects(service) for service in SERVICES}

    def trouble(self, service: str, *, late: float = 0.0, garbled: float = 0.0, **faults: Any) -> None:
        """Sets faults of a service: the sandbox's own, the share of the requests that arrive when their caller has
        given up, and that of the answers which nobody can read."""
        self._late[service], self._garbled[service] = late, garbled
        self.faults.change(service, json.dumps(faults).encode())

    def clear(self, **faults: Any) -> None:
        """Ends all faults, except those given, which all services have."""
        self.loop.call_soon_threadsafe(self.faults.reset)
        self.loop.call_soon_threadsafe(self._late.clear)
        self.loop.call_soon_threadsafe(self._garbled.clear)
        if faults:
            for service in FAULTY:
                self.loop.call_soon_threadsafe(lambda name=service: self.trouble(name, **faults))

    def garbles(self, service: str) -> bool:
        """Whether this answer of the service cannot be read."""
        return self._kernel.chance.random() < self._garbled.get(service, 0.0)

    def _delay(self, service: str) -> float:
        """For how many seconds a request of this moment is on its way, unseen by anybody; 0 for most."""
        if self._kernel.chance.random() >= self._late.get(service, 0.0):
            return 0.0
        return self._kernel.chance.uniform(0.2, LATEST[service])

    async def ask(
        self, handler: Callable[[Any], Awaitable[web.Response]], incoming: Incoming
    ) -> web.Response:
        """Has a call handled in the sandbox's loop, and waits for it in the caller's.

        Raises `aiohttp.ServerDisconnectedError` if it is cut. A caller that gives up disconnects.
        """
        caller = asyncio.get_running_loop()
        answered: asyncio.Future[web.Response | None] = caller.create_future()
        tasks: list[asyncio.Task[None]] = []

        async def handle() -> None:
            try:
                response: web.Response | None = await handler(incoming)
            except InvalidRequest as error:
                response = respond(error.answer)
            if incoming.transport.is_cut:
                response = None
            caller.call_soon_threadsafe(_answer, answered, response)

        delay = self._delay(incoming.match_info["service"]) if handler == self.calls.handle else 0.0
        if delay:
            self.loop.call_soon_threadsafe(
                lambda: self.loop.call_later(delay, lambda: self.loop.create_task(handle()))
            )
            raise aiohttp.ServerDisconnectedError
        self.loop.call_soon_threadsafe(lambda: tasks.append(self.loop.create_task(handle())))
        try:
            async with asyncio.timeout(CALL_TIMEOUT):
                response = await answered
        finally:
            self.loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        if response is None:
            raise aiohttp.ServerDisconnectedError
        return response

    def _run(self) -> None:
        self.loop = VirtualLoop(self._kernel, self._process)
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.Event().wait())


def _answer(answered: "asyncio.Future[web.Response | None]", response: web.Response | None) -> None:
    if not answered.done():
        answered.set_result(response)


class SimulatedRemote:
    """What `orders.agents.transport.Remote` is to an agent."""

    def __init__(self, services: RemoteServices, service: str) -> None:
        self._services = services
        self._service = service

    async def post(self, path: str, *, key: str, body: Json) -> dict[str, Any]:
        """Makes one call and returns the answer's JSON object. Raises a `Fault` if it fails."""
        return await self._call(self._services.calls.handle, Incoming(self._service, path, key, body))

    async def inquire(self, key: str) -> Finding:
        """Asks what has become of the call with this key. Raises a `Fault` if that fails."""
        answer = await self._call(self._services.calls.inquire, Incoming(self._service, "", key, {}))
        if answer["result"] == "done":
            return Done(result=answer["answer"])
        return NotDone() if answer["result"] == "not_done" else Unknown(reason=answer["result"])

    async def close(self) -> None:
        """There is nothing to close."""

    async def _call(self, handler: Callable[[Any], Awaitable[web.Response]], incoming: Incoming) -> Any:
        try:
            response = await self._services.ask(handler, incoming)
        except (aiohttp.ClientError, OSError) as error:
            raise classify(error) from error
        raw = b"<html>" if self._services.garbles(self._service) else (response.text or "").encode()
        if response.status < 300:
            return read_object(raw)
        raise classify(
            response.status,
            details=read_error(raw),
            retry_after=retry_after_seconds(response.headers, now=EPOCH),
        )


class SimulatedMailServer:
    """What `orders.agents.smtp.SmtpRemote` is to the agent for emails."""

    def __init__(self, services: RemoteServices) -> None:
        self._services = services

    async def send(self, message: bytes, *, sender: str, recipient: str) -> None:
        """Takes one email, after the faults of the mail server."""
        faults = self._services.faults["mail"]
        if faults.down:
            raise Transient("connection_lost", "the connection to the mail server was lost")
        await asyncio.sleep(faults.latency())
        if happens(faults.hang_rate):
            await asyncio.sleep(CALL_TIMEOUT)
            raise Transient("timeout", "no answer from the mail server in time")
        if happens(faults.error_rate):
            raise Transient("smtp_451", "try again later")
        if happens(faults.lost_reply_rate):
            raise Transient("connection_lost", "the connection to the mail server was lost")

    async def close(self) -> None:
        """There is nothing to close."""


def connect_agents(agents: Mapping[str, Agent], services: RemoteServices) -> Mapping[str, Agent]:
    """Gives the shop's agents their simulated remote services."""
    for name, agent in agents.items():
        remote = SimulatedMailServer(services) if name == "mail" else SimulatedRemote(services, name)
        agent._remote = remote  # type: ignore[attr-defined]
    return agents
