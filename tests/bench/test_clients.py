"""The clients of `bench rest` count what a server answers and what it holds, neither more nor less."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bench import clients

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"
KNOWN = b"HTTP/1.1 304 Not Modified\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok\n\r\n0\r\n\r\n"
ENDING = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n."
"""After this the server closes the connection, which it has not announced."""
LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok\n\r\n"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
ANSWERS = {
    **{b"/ok": OK, b"/known": KNOWN, b"/chunked": CHUNKED, b"/last": LAST},
    **{b"/ending": ENDING, b"/stream": STREAM, b"/busy": BUSY},
}


def run(test: Callable[[int, list[bytes]], Awaitable[None]]) -> None:
    """Runs a test with the port of a server, and the list of the requests that it has got. It never answers /wait."""

    async def main() -> None:
        async with a_server() as (port, received):
            await test(port, received)

    asyncio.run(main())


@asynccontextmanager
async def a_server() -> AsyncIterator[tuple[int, list[bytes]]]:
    received: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                received.append(head)
                answer = ANSWERS.get(head.split()[1], b"")
                writer.write(answer[:20])
                await writer.drain()
                await asyncio.sleep(0)
                writer.write(answer[20:])
                if answer in (LAST, ENDING):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], received


def get(path: str, headers: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode()


def test_answers_end_with_their_length_or_last_chunk_or_have_no_body() -> None:
    async def test(port: int, received: list[bytes]) -> None:
        paths = [get("/ok"), get("/known"), get("/chunked"), get("/busy"), get("/last")]
        answers = await clients.send_in_turn(port, paths, 2, 0.2)
        assert set(answers.statuses) == {200, 304, 503}
        assert answers.statuses.total() == len(answers.milliseconds) == len(received) >= len(paths)

    run(test)


def test_requests_at_a_rate_come_as_often_as_that() -> None:
    async def test(port: int, received: list[bytes]) -> None:
        answers = await clients.send_at_rate(port, [get("/ok")], 200.0, 0.5)
        assert answers.statuses == Counter({200: 100})
        assert len(received) == 100
        assert answers.seconds >= 0.49

    run(test)


def test_requests_go_on_when_the_server_closes_idle_connections() -> None:
    async def test(port: int, received: list[bytes]) -> None:
        answers = await clients.send_at_rate(port, [get("/ending")], 1_000.0, 0.3)
        assert answers.statuses == Counter({200: 300})

    run(test)


def test_each_request_with_a_key_has_another_one() -> None:
    async def test(port: int, received: list[bytes]) -> None:
        await clients.send_at_rate(port, [get("/ok", f"Key: {clients.KEY.decode()}\r\n")], 200.0, 0.1)
        keys = [re.findall(rb"Key: ([0-9a-f]{32})\r\n", head) for head in received]
        assert len({key for (key,) in keys}) == 20

    run(test)


def test_only_what_the_server_neither_refuses_nor_ends_counts_as_held() -> None:
    async def test(port: int, received: list[bytes]) -> None:
        waiters = [get("/wait"), get("/known"), get("/wait"), get("/busy")]
        streams = [get("/stream"), get("/chunked"), get("/busy"), get("/wait")]
        held = await clients.hold(port, waiters, streams, [get("/ok")], 0.1)
        assert (held.waiters, held.streams) == (2, 1)
        assert held.answers.statuses == Counter({200: 2})

    run(test)
