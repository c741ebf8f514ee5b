"""Which faults of HTTP are which, and that one call is bounded in time and size (F15)."""

import asyncio
import contextlib
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from orders.agents import transport
from orders.agents.transport import (
    LARGEST_ANSWER,
    LONGEST_RETRY_AFTER,
    Remote,
    RemoteError,
    classify,
    read_error,
    read_object,
    retry_after_seconds,
)
from orders.engine.errors import Declined, Fault, Refused, Transient, Unresolved

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
BOUND = 10.0
"""Seconds that no test here comes near."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def connector_error(kind: type[aiohttp.ClientConnectorError]) -> Exception:
    key = aiohttp.client_reqrep.ConnectionKey("remote.invalid", 443, True, True, None, None, None)
    return kind(key, OSError(111, "refused"))


def certificate_error() -> Exception:
    key = aiohttp.client_reqrep.ConnectionKey("remote.invalid", 443, True, True, None, None, None)
    return aiohttp.ClientConnectorCertificateError(key, ssl.SSLCertVerificationError("expired"))


@pytest.mark.pattern("A2", "A6")
@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        *((status, Transient, f"http_{status}") for status in (408, 409, 425, 429, 500, 502, 503, 504)),
        (402, Declined, "http_402"),
        *((status, Unresolved, "misconfigured") for status in (401, 403, 404, 405, 407)),
        *((status, Refused, f"http_{status}") for status in (400, 406, 410, 412, 413, 422, 451)),
        *((status, Unresolved, "redirected") for status in (300, 301, 302, 303, 304, 307, 308)),
        *((status, Unresolved, f"http_{status}") for status in (501, 505, 507, 511, 100, 600)),
    ],
)
def test_each_status_is_one_kind_of_fault(status: int, kind: type[Fault], code: str) -> None:
    fault = classify(status)
    assert type(fault) is kind
    assert fault.code == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (connector_error(aiohttp.ClientConnectorError), "unreachable"),
        (connector_error(aiohttp.ClientConnectorDNSError), "dns"),
        (connector_error(aiohttp.ClientConnectorSSLError), "tls"),
        (certificate_error(), "certificate"),
        (TimeoutError(), "timeout"),
        (aiohttp.ConnectionTimeoutError(), "timeout"),
        (aiohttp.SocketTimeoutError(), "timeout"),
        (aiohttp.ServerDisconnectedError(), "connection_lost"),
        (aiohttp.ClientConnectionResetError(), "connection_lost"),
        (aiohttp.ClientPayloadError(), "connection_lost"),
        (ConnectionResetError(), "connection_lost"),
        (aiohttp.ClientResponseError(None, (), status=400), "bad_answer"),  # type: ignore[arg-type]
    ],
)
def test_whatever_befalls_the_connection_may_pass(error: Exception, code: str) -> None:
    fault = classify(error)
    assert type(fault) is Transient
    assert fault.code == code


def test_an_invalid_url_is_for_an_operator() -> None:
    assert type(classify(aiohttp.InvalidURL("nonsense"))) is Refused


def test_the_remotes_own_words_are_kept_with_a_refusal() -> None:
    details = RemoteError(code="out_of_stock", message="No more of it")
    for status, kind in ((422, Refused), (402, Declined), (503, Transient), (501, Unresolved)):
        fault = classify(status, details=details)
        assert (type(fault), fault.code, fault.message) == (kind, "out_of_stock", "No more of it")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("99999", LONGEST_RETRY_AFTER),
        ("9" * 5_000, LONGEST_RETRY_AFTER),
        (format_datetime(NOW.replace(second=20), usegmt=True), 20.0),
        (format_datetime(NOW.replace(year=2031), usegmt=True), LONGEST_RETRY_AFTER),
        (format_datetime(NOW.replace(year=2029), usegmt=True), 0.0),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("soon", None),
        ("Fri, 99 Foo 2030 99:99:99 GMT", None),
        ("", None),
    ],
)
def test_retry_after_is_honoured_within_bounds(value: str, seconds: float | None) -> None:
    assert retry_after_seconds({"Retry-After": value}, now=NOW) == seconds


def test_a_retry_after_date_is_measured_by_the_remotes_own_clock() -> None:
    its_now = NOW.replace(hour=3)
    headers = {
        "Date": format_datetime(its_now, usegmt=True),
        "Retry-After": format_datetime(its_now.replace(second=9), usegmt=True),
    }
    assert retry_after_seconds(headers, now=NOW) == 9.0


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nonsense",
        b"[1]",
        b'"text"',
        b"null",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\u0000"}',
        b'{"\\u0000": 1}',
        b'{"a": "\\\\\\u0000"}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"[" * 60_000,
        b'{"a": ' + b"9" * 5_000 + b"}",
    ],
)
def test_an_answer_that_could_not_be_kept_is_not_taken(raw: bytes) -> None:
    with pytest.raises(ValueError):
        read_object(raw)


def test_an_answer_that_only_looks_like_it_is_taken() -> None:
    assert read_object(b'{"a": "\\\\u0000 \xc3\xa9"}') == {"a": "\\u0000 é"}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"error": {"code": "no_stock", "message": "None left"}}, "no_stock", "None left"),
        ({"error": {"code": "No Stock!<b>", "message": "a\n\tb\x07c"}}, "no_stock_b_", "a b c"),
        ({"error": {"code": "x" * 500, "message": "y" * 5_000}}, "x" * 60, "y" * 300),
        ({"error": {"code": 5, "message": ["no"]}}, "", ""),
        ({"error": "no"}, "", ""),
        ({}, "", ""),
    ],
)
def test_what_a_remote_says_is_trimmed(body: Any, code: str, message: str) -> None:
    assert read_error(json.dumps(body).encode()) == RemoteError(code=code, message=message)


def test_a_time_out_of_nothing_is_refused() -> None:
    for timeout in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout"):
            Remote("http://127.0.0.1", timeout=timeout)


@contextlib.asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A real server on loopback that answers every call with `handler`."""
    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def call(handler: Handler, *, timeout: float = BOUND) -> dict[str, Any]:
    """One call to a server with `handler`."""

    async def run() -> dict[str, Any]:
        async with serving(handler) as url:
            remote = Remote(url, timeout=timeout)
            try:
                return await remote.post("operation", key="order/step/1", body={"order_id": "1"})
            finally:
                await remote.close()

    return asyncio.run(asyncio.wait_for(run(), BOUND))


def fault_of(handler: Handler, *, timeout: float = BOUND) -> Fault:
    with pytest.raises(Fault) as caught:
        call(handler, timeout=timeout)
    return caught.value


def answering(status: int, body: str = "{}", **headers: str) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=body, headers=sent)

    return handler


@pytest.mark.pattern("A3")
def test_a_call_carries_its_key_and_its_body() -> None:
    seen: dict[str, Any] = {}

    async def handler(request: web.Request) -> web.Response:
        seen.update(key=request.headers["Idempotency-Key"], path=request.path, body=await request.json())
        return web.json_response({"reservation": "r1"})

    assert call(handler) == {"reservation": "r1"}
    assert seen == {"key": "order/step/1", "path": "/operation", "body": {"order_id": "1"}}


@pytest.mark.pattern("A2")
def test_500_after_the_effect_may_pass() -> None:
    assert type(fault_of(answering(500))) is Transient


def test_409_in_progress_asks_for_a_wait() -> None:
    fault = fault_of(answering(409, Retry_After="2"))
    assert isinstance(fault, Transient)
    assert fault.retry_after == 2.0


def test_429_may_name_a_date() -> None:
    fault = fault_of(
        answering(429, Date=format_datetime(NOW), Retry_After=format_datetime(NOW.replace(second=5)))
    )
    assert isinstance(fault, Transient)
    assert fault.retry_after == 5.0


def test_402_is_for_the_customer_to_mend() -> None:
    body = json.dumps({"error": {"code": "card_declined", "message": "The card was declined"}})
    fault = fault_of(answering(402, body))
    assert type(fault) is Declined
    assert (fault.code, fault.message) == ("card_declined", "The card was declined")


def test_422_is_a_definite_no() -> None:
    fault = fault_of(answering(422, '{"error": {"code": "out_of_stock", "message": "None left"}}'))
    assert type(fault) is Refused
    assert fault.code == "out_of_stock"


def test_a_refusal_without_words_is_one_all_the_same() -> None:
    assert fault_of(answering(422, "<html>")).code == "http_422"


def test_a_refusal_of_any_size_is_one() -> None:
    assert type(fault_of(answering(422, "x" * (LARGEST_ANSWER + 1)))) is Refused


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_loopback_is_not_followed(status: int) -> None:
    calls: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        calls.append(request.path)
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    assert type(fault_of(handler)) is Unresolved
    assert calls == ["/operation"]


def test_a_gigabyte_is_cut_short() -> None:
    sent = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while sent < 2**30:
                await response.write(b" " * 2**16)
                sent += 2**16
        return response

    fault = fault_of(handler)
    assert type(fault) is Unresolved
    assert fault.code == "answer_too_large"
    assert sent < 2**26


def test_an_answer_of_the_largest_size_is_read() -> None:
    body = json.dumps({"a": "x" * (LARGEST_ANSWER - 9)})
    assert len(body) == LARGEST_ANSWER
    assert len(call(answering(200, body))["a"]) == LARGEST_ANSWER - 9


def test_a_compressed_answer_is_not_unpacked() -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.headers["Accept-Encoding"] == "identity"
        bomb = gzip.compress(json.dumps({"a": "x" * 2**20}).encode())
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip"})

    assert fault_of(handler).code == "bad_answer"


def test_a_trickle_ends_at_the_time_out() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    assert fault_of(handler, timeout=0.2).code == "timeout"


def test_silence_ends_at_the_time_out() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        await asyncio.get_running_loop().create_future()
        raise AssertionError("unreachable")

    fault = fault_of(handler, timeout=0.1)
    assert type(fault) is Transient
    assert fault.code == "timeout"


@pytest.mark.parametrize("body", ["", "nonsense", "[]", '{"a": "\\u0000"}'])
def test_a_200_that_cannot_be_read_is_asked_for_again(body: str) -> None:
    fault = fault_of(answering(200, body))
    assert type(fault) is Transient
    assert fault.code == "bad_answer"


def test_a_connection_cut_before_the_answer_may_pass() -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    assert type(fault_of(handler)) is Transient


def test_a_connection_cut_in_mid_answer_may_pass() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"a": ')
        assert request.transport is not None
        request.transport.close()
        return response

    assert type(fault_of(handler)) is Transient


def raw_fault(answer: bytes) -> Fault:
    """The fault of a call to a server that answers with just these bytes."""

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
def test_broken_http_may_pass(answer: bytes) -> None:
    assert type(raw_fault(answer)) is Transient


def test_nobody_listening_may_pass() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        remote = Remote(f"http://127.0.0.1:{taken.getsockname()[1]}", timeout=BOUND)
        with pytest.raises(Transient) as caught:
            asyncio.run(asyncio.wait_for(one_call(remote), BOUND))
    assert caught.value.code == "unreachable"


def test_no_tls_handshake_may_pass() -> None:
    async def run() -> None:
        async with serving(answering(200)) as url:
            await one_call(Remote(url.replace("http://", "https://"), timeout=BOUND))

    with pytest.raises(Transient) as caught:
        asyncio.run(asyncio.wait_for(run(), BOUND))
    assert caught.value.code == "tls"


def test_a_name_that_is_not_found_may_pass() -> None:
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
    assert transport.MOST_CONNECTIONS >= 2_000


def test_a_closed_remote_opens_again() -> None:
    async def run() -> None:
        async with serving(answering(200)) as url:
            remote = Remote(url, timeout=BOUND)
            await remote.close()
            for _ in range(2):
                assert await remote.post("operation", key="k", body={}) == {}
                await remote.close()

    asyncio.run(asyncio.wait_for(run(), BOUND))


def test_a_cancelled_call_is_no_fault() -> None:
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
