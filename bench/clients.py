"""Many clients of a web server in one event loop, on connections that they keep: a load that costs little itself.

It runs in a process of its own (`bench.rest`) and imports neither Django nor an HTTP library, since what it costs, the
server cannot have. Each client has an IP address of its own, 127.x.y.z, because the web lets each address occupy only
some of its threads.
"""

import asyncio
import contextlib
import itertools
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from sasweb import descriptors

KEY = b"idempotency-key-of-this-request."
"""In a request, stands for text of the same length that no other request of this run has."""
LATE = 30.0
"""Seconds after which an unanswered request ends the run."""
MOST_WAITING = 500
"""Connections that requests at a fixed rate may open, all together."""
ADDRESS_HOLDS = 20
"""Held requests of each IP address."""
AT_ONCE, PAUSE = 40, 0.05
"""Requests to be held that are sent at once, and the seconds after which others are."""
QUIET = 1.0
"""Seconds without an answer after which what has none counts as held."""
PLAIN_RATE = 20.0
"""Requests a second beside those that are held."""

_keys = itertools.count(time.time_ns())


class Answers(NamedTuple):
    """The statuses of a run's answers, the milliseconds of each, and how many seconds all of them took."""

    statuses: Counter[int]
    milliseconds: list[float]
    seconds: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.milliseconds) / self.seconds


class Held(NamedTuple):
    """How many waiters and streams a server held, and its answers to plain requests meanwhile."""

    waiters: int
    streams: int
    answers: Answers


class Connection(asyncio.Protocol):
    """One connection, with one request at a time. `status` is that of the answer that began last."""

    def __init__(self) -> None:
        self.status = 0
        self.is_open = True
        self.answer: asyncio.Future[int] | None = None
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._length: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self.answer and not self.answer.done():
            self.answer.set_exception(ConnectionError("the server has closed a connection"))

    def send(self, request: bytes) -> asyncio.Future[int]:
        """Sends a request. The result is the status, once the whole answer has arrived."""
        assert self._transport is not None
        self.status, self._buffer, self._length = 0, b"", None
        self.answer = asyncio.get_running_loop().create_future()
        if KEY in request:
            request = request.replace(KEY, b"%032x" % next(_keys))
        self._transport.write(request)
        return self.answer

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self.status and not self._read_head():
            return
        is_whole = (
            self._buffer.endswith(b"0\r\n\r\n") if self._length is None else len(self._buffer) >= self._length
        )
        if is_whole and self.answer and not self.answer.done():
            self.answer.set_result(self.status)

    def close(self) -> None:
        """Ends the connection."""
        self.is_open = False
        if self._transport:
            self._transport.abort()

    def _read_head(self) -> bool:
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return False
        self.status, self._buffer = int(head[9:12]), rest
        lines = head.lower().split(b"\r\n")
        lengths = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        self._length = 0 if self.status in (204, 304) else next(iter(lengths), None)
        if b"connection: close" in lines:
            self.is_open = False
        return True


async def connect(port: int, number: int = 0) -> Connection:
    """A connection of the client with this number."""
    loop = asyncio.get_running_loop()
    source = f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"
    _, connection = await loop.create_connection(Connection, "127.0.0.1", port, local_addr=(source, 0))
    return connection


async def ask(connection: Connection, request: bytes) -> int:
    """Sends a request. Returns the status of its answer; raises `TimeoutError`."""
    async with asyncio.timeout(LATE):
        return await connection.send(request)


async def send_once(port: int, request: bytes) -> Answers:
    """Sends one request, and waits for the whole answer."""
    began = time.perf_counter()
    connection = await connect(port)
    status = await ask(connection, request)
    connection.close()
    seconds = time.perf_counter() - began
    return Answers(Counter([status]), [seconds * 1000], seconds)


async def send_in_turn(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> Answers:
    """Has each client send one request after the other for that long. All take from the same requests, again and
    again."""
    statuses: Counter[int] = Counter()
    times: list[float] = []
    supply = itertools.cycle(requests)
    connections = [await connect(port, number) for number in range(clients)]
    began = time.perf_counter()

    async def go_on(connection: Connection, number: int) -> None:
        while (sent := time.perf_counter()) < began + seconds:
            if not connection.is_open:
                connection = await connect(port, number)
            statuses[await ask(connection, next(supply))] += 1
            times.append((time.perf_counter() - sent) * 1000)
        connection.close()

    await asyncio.gather(*(go_on(connection, number) for number, connection in enumerate(connections)))
    return Answers(statuses, times, time.perf_counter() - began)


async def send_at_rate(port: int, requests: Sequence[bytes], rate: float, seconds: float) -> Answers:
    """Sends that many requests a second, whatever becomes of the earlier ones. The milliseconds of each begin when it
    is due, so they contain its wait for a connection, too."""
    statuses: Counter[int] = Counter()
    times: list[float] = []
    numbers = itertools.count()
    idle: deque[Connection] = deque()
    room = asyncio.Semaphore(MOST_WAITING)
    began = time.perf_counter()

    async def send(request: bytes, due: float) -> None:
        async with room:
            while connection := take_idle(idle):
                # The server may close a connection that has been idle while the request is on its way.
                with contextlib.suppress(ConnectionError):
                    status = await ask(connection, request)
                    break
            else:
                connection = await connect(port, next(numbers))
                status = await ask(connection, request)
            statuses[status] += 1
            times.append((time.perf_counter() - due) * 1000)
            idle.append(connection)

    async with asyncio.TaskGroup() as group:
        for number, request in zip(
            range(max(1, round(rate * seconds))), itertools.cycle(requests), strict=False
        ):
            due = began + number / rate
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            group.create_task(send(request, due))
    lasted = time.perf_counter() - began
    for connection in idle:
        connection.close()
    return Answers(statuses, times, lasted)


def take_idle(idle: deque[Connection]) -> Connection | None:
    """A connection that has no request and that the server has not closed."""
    while idle:
        if (connection := idle.pop()).is_open:
            return connection
    return None


async def hold(
    port: int, waiters: Sequence[bytes], streams: Sequence[bytes], plain: Sequence[bytes], seconds: float
) -> Held:
    """Sends each waiter's and each stream's request on a connection of its own. Once the server has refused whatever it
    refuses, sends the plain requests at `PLAIN_RATE`. Counts the waiters without an answer and the streams that go on
    before and after that, and keeps the smaller counts."""
    descriptors.raise_limit()
    connections = await _open_all(port, [*waiters, *streams])
    await _until_quiet(connections)
    before = _held(connections[: len(waiters)], 0), _held(connections[len(waiters) :], 200)
    answers = await send_at_rate(port, plain, PLAIN_RATE, seconds)
    after = _held(connections[: len(waiters)], 0), _held(connections[len(waiters) :], 200)
    for connection in connections:
        connection.close()
    return Held(min(before[0], after[0]), min(before[1], after[1]), answers)


async def _open_all(port: int, requests: Sequence[bytes]) -> list[Connection]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def send(number: int, request: bytes) -> Connection:
        async with turns:
            connection = await connect(port, number // ADDRESS_HOLDS)
            connection.send(request).add_done_callback(asyncio.Future.exception)
            await asyncio.sleep(PAUSE)
            return connection

    return list(await asyncio.gather(*(send(number, request) for number, request in enumerate(requests))))


async def _until_quiet(connections: Sequence[Connection]) -> None:
    ends = time.monotonic() + LATE
    answered = -1
    while (now := sum(bool(connection.status) for connection in connections)) != answered:
        assert time.monotonic() < ends, "the server still answers requests that it does not hold"
        answered = now
        await asyncio.sleep(QUIET)


def _held(connections: Sequence[Connection], status: int) -> int:
    """How many of these have this status, and no whole answer."""
    return sum(
        connection.is_open
        and connection.status == status
        and not (connection.answer and connection.answer.done())
        for connection in connections
    )
