"""Calls that are slow, cut off or cancelled, and connections that fail: every call is bounded in time (F15)."""

import asyncio
import socket
from typing import Any

import pytest
from aiohttp import web

from orders.agents import connections
from orders.agents.transport import (
    Remote,
)
from orders.engine.errors import Fault, Transient
from tests.support.remote import BOUND, answering, fault_of, serving


def test_a_trickle_ends_at_the_timeout() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    assert fault_of(handler, timeout=0.2).code == "timeout"


def test_silence_ends_at_the_timeout() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        await asyncio.get_running_loop().create_future()
        raise AssertionError("unreachable")

    fault = fault_of(handler, timeout=0.1)
    assert type(fault) is Transient
    assert fault.code == "timeout"


def test_a_connection_cut_before_the_answer_is_transient() -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    assert type(fault_of(handler)) is Transient


def test_a_connection_cut_in_mid_answer_is_transient() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"a": ')
        assert request.transport is not None
        request.transport.close()
        return response

    assert type(fault_of(handler)) is Transient


def raw_fault(answer: bytes) -> Fault:
    """The fault of a call to a server that answers with exactly these bytes."""

    async def run() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            remote = Remote(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", timeout=BOUND)
            try:
                await remote.post("operation", key="k", body={})
            finally:
                await remote.close()

    with pytest.raises(Fault) as caught:
        asyncio.run(asyncio.wait_for(run(), BOUND))
    return caught.value


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    ],
    ids=["nothing", "no HTTP", "endless header", "bad chunks"],
)
def test_broken_http_is_transient(answer: bytes) -> None:
    assert type(raw_fault(answer)) is Transient


def test_a_refused_connection_is_transient() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        remote = Remote(f"http://127.0.0.1:{taken.getsockname()[1]}", timeout=BOUND)
        with pytest.raises(Transient) as caught:
            asyncio.run(asyncio.wait_for(one_call(remote), BOUND))
    assert caught.value.code == "unreachable"


def test_a_failed_tls_handshake_is_transient() -> None:
    async def run() -> None:
        async with serving(answering(200)) as url:
            await one_call(Remote(url.replace("http://", "https://"), timeout=BOUND))

    with pytest.raises(Transient) as caught:
        asyncio.run(asyncio.wait_for(run(), BOUND))
    assert caught.value.code == "tls"


def test_an_unknown_host_name_is_transient() -> None:
    with pytest.raises(Transient):
        asyncio.run(asyncio.wait_for(one_call(Remote("http://nowhere.invalid", timeout=BOUND)), 2 * BOUND))


async def one_call(remote: Remote) -> dict[str, Any]:
    try:
        return await remote.post("operation", key="k", body={})
    finally:
        await remote.close()


def test_hundreds_of_calls_are_under_way_at_once() -> None:
    async def run() -> int:
        waiting = 0
        all_there = asyncio.Event()

        async def handler(request: web.Request) -> web.Response:
            nonlocal waiting
            waiting += 1
            if waiting == 300:
                all_there.set()
            await all_there.wait()
            return web.json_response({})

        async with serving(handler) as url:
            remote = Remote(url, timeout=BOUND)
            await asyncio.gather(*(remote.post("operation", key=str(n), body={}) for n in range(300)))
            await remote.close()
        return waiting

    most = asyncio.run(asyncio.wait_for(run(), 2 * BOUND))
    assert most == 300
    assert connections.MOST_CONNECTIONS >= 2_000


def test_a_closed_remote_can_be_used_again() -> None:
    async def run() -> None:
        async with serving(answering(200)) as url:
            remote = Remote(url, timeout=BOUND)
            await remote.close()
            for _ in range(2):
                assert await remote.post("operation", key="k", body={}) == {}
                await remote.close()

    asyncio.run(asyncio.wait_for(run(), BOUND))


def test_a_cancelled_call_raises_no_fault() -> None:
    async def run() -> None:
        arrived = asyncio.Event()

        async def handler(request: web.Request) -> web.StreamResponse:
            arrived.set()
            await asyncio.get_running_loop().create_future()
            raise AssertionError("unreachable")

        async with serving(handler) as url:
            remote = Remote(url, timeout=BOUND)
            task = asyncio.create_task(remote.post("operation", key="k", body={}))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await remote.close()

    asyncio.run(asyncio.wait_for(run(), BOUND))
