"""The router in front of the threads, with readers and senders that are slower than any real ones."""

import asyncio
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings

from sasweb.holding import HOLD, Outcome
from sasweb.refusals import BUSY
from sasweb.turns import Turns

SOON = 60.0
PROBLEM, TEXT = b"application/problem+json", b"text/plain; charset=utf-8"
LARGE = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
GREEDY = "203.0.113.1"
SMALL = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"


@pytest.fixture
def asgi(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module, imported without switching this process to a pool of connections."""
    monkeypatch.setenv("DATABASE_POOL", "0")
    monkeypatch.setattr(settings, "WHITENOISE_AUTOREFRESH", False)
    yield import_module("sasweb.asgi")


def scope(path: str, *, method: str = "GET", **headers: str) -> dict[str, Any]:
    extra = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *extra],
    }


def of_client(host: str) -> dict[str, Any]:
    return {**scope("/"), "client": (host, 1234)}


async def never(*_: object) -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def answer_to(asgi: ModuleType, request: dict[str, Any], receive: Any = never) -> list[dict[str, Any]]:
    """The messages of the response, which must come soon."""
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await asyncio.wait_for(asgi.application(request, receive, send), SOON)
    return messages


def test_readers_that_do_not_read_hold_no_thread(asgi: ModuleType) -> None:
    async def run() -> list[dict[str, Any]]:
        begin_to_read = asyncio.Event()

        async def send(_: object) -> None:
            await begin_to_read.wait()

        readers = [
            asyncio.create_task(asgi.application(scope(LARGE), never, send))
            for _ in range(settings.WEB_THREADS + 8)
        ]
        await asyncio.sleep(0)  # lets each of them take its place in the queue for a thread
        try:
            return await answer_to(asgi, scope(SMALL))
        finally:
            begin_to_read.set()
            await asyncio.gather(*readers)

    assert asyncio.run(run())[0]["status"] == 200


def test_senders_that_never_send_hold_no_thread_and_no_connection(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi, "BODY_TIMEOUT", 0.05)
    for path, kind in (("/api/v1/orders", PROBLEM), ("//api/v1/orders", PROBLEM), ("/cart/add/", TEXT)):
        start, body = asyncio.run(answer_to(asgi, scope(path, method="POST", content_length="10")))
        headers = dict(start["headers"])
        assert (start["status"], headers[b"content-type"], headers[b"connection"]) == (408, kind, b"close")
        assert (b'"code":"request_timeout"' in body["body"]) is (kind == PROBLEM)


def test_the_time_for_a_body_ends_although_there_is_always_more_of_it(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"a", "more_body": True}

    monkeypatch.setattr(asgi, "BODY_TIMEOUT", 0.05)
    request = scope("/api/v1/orders", method="POST", transfer_encoding="chunked")
    assert asyncio.run(answer_to(asgi, request, receive))[0]["status"] == 408


def test_a_body_that_would_not_be_read_to_its_end_is_not_waited_for(asgi: ModuleType) -> None:
    request = scope("/api/v1/nothing", method="POST", content_length="9" * 20)
    assert asyncio.run(answer_to(asgi, request))[0]["status"] == 404


def test_a_request_that_is_held_is_passed_on_without_its_body(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[tuple[bytes, bytes]] = []

    async def have_answered(scope: dict[str, Any], *_: object) -> list[Any]:
        (length,) = (value for name, value in scope["headers"] if name == b"content-length")
        passes.append((scope[asgi.BODY].read(), length))
        scope.setdefault(HOLD, "until something happens")
        return []

    async def hold(*_: object) -> Outcome:
        return Outcome.CHANGED

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"body"}

    monkeypatch.setattr(asgi, "have_answered", have_answered)
    monkeypatch.setattr(asgi.streams, "hold", hold)
    asyncio.run(answer_to(asgi, scope("/api/v1/orders", content_length="4"), receive))
    assert passes == [(b"body", b"4"), (b"", b"0")]


@pytest.mark.parametrize("charset", ["utf-16", "hex", "latin-1", "no-such-charset"])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "Multipart/Form-Data; boundary=b"])
def test_a_form_that_is_not_in_utf8_is_refused(kind: str, charset: str, asgi: ModuleType) -> None:
    for parameter in (f"charset={charset}", f"charset*=us-ascii''{charset}"):
        request = scope("/orders/find/?a=%41", method="POST", content_type=f"{kind}; {parameter}")
        start, *_ = asyncio.run(answer_to(asgi, request))
        assert start["status"] == 415
        assert dict(start["headers"])[b"x-content-type-options"] == b"nosniff"


@pytest.mark.django_db
def test_the_api_refuses_such_a_form_like_any_other(asgi: ModuleType) -> None:
    form = "application/x-www-form-urlencoded; charset=hex"
    start, *_ = asyncio.run(answer_to(asgi, scope("/api/v1/orders", method="POST", content_type=form)))
    assert (start["status"], dict(start["headers"])[b"content-type"]) == (401, b"application/problem+json")


@pytest.mark.django_db
@pytest.mark.parametrize("charset", ["hex", "utf-16", "UTF8"])
def test_the_url_is_read_as_utf8_whatever_the_charset_of_the_body(charset: str, asgi: ModuleType) -> None:
    request = scope("/api/v1/orders", content_type=f"text/plain; charset={charset}")
    start, *_ = asyncio.run(answer_to(asgi, request | {"query_string": b"q=%C3%BC"}))
    assert start["status"] == 401


def test_what_django_itself_fails_at_is_logged_and_answered(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_environ: object, _start_response: object) -> None:
        raise LookupError("not a text encoding")

    monkeypatch.setattr(asgi, "wsgi_application", fail)
    for path, kind in (("/", TEXT), ("/api/v1/orders", PROBLEM)):
        caplog.clear()
        start, *_ = asyncio.run(answer_to(asgi, scope(path)))
        headers = dict(start["headers"])
        assert (start["status"], headers[b"content-type"]) == (500, kind)
        assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]
        (record,) = caplog.records
        assert isinstance(record.msg, dict)
        assert record.msg["exc_info"]
        assert record.msg["request_id"] == headers[b"x-request-id"].decode()


def test_the_server_is_notified_when_the_application_has_started_and_stopped(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        asgi.shutdown, "watch_signals", lambda *_: None
    )  # these signals are the test runner's
    events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> dict[str, str]:
        return events.pop(0)

    messages = asyncio.run(answer_to(asgi, {"type": "lifespan"}, receive))
    assert [message["type"] for message in messages] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/healthz", "GET", 200), ("/events/nothing/", "GET", 404), ("/events/console/", "TRACE", 405)],
)
def test_what_django_does_not_answer_has_the_security_headers_too(
    scheme: str, path: str, method: str, status: int, asgi: ModuleType
) -> None:
    start, *_ = asyncio.run(answer_to(asgi, scope(path, method=method) | {"scheme": scheme}))
    headers = dict(start["headers"])
    assert start["status"] == status
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"referrer-policy"] == b"same-origin"
    assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]
    assert headers.get(b"strict-transport-security") == (b"max-age=31536000" if scheme == "https" else None)


def test_a_probe_answers_no_trace(asgi: ModuleType) -> None:
    start, *_ = asyncio.run(answer_to(asgi, scope("/healthz", method="TRACE")))
    assert start["status"] == 405


def test_one_address_occupies_a_quarter_of_the_threads_and_others_are_served(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        entered: list[str] = []
        is_full, may_answer = asyncio.Event(), asyncio.Event()

        async def pages(request: dict[str, Any], _receive: Any, send: Any) -> None:
            host = request["client"][0]
            entered.append(host)
            if len(entered) == settings.WEB_THREADS // 4:
                is_full.set()
            if host == GREEDY:
                await may_answer.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        monkeypatch.setattr(asgi, "pages", pages)
        monkeypatch.setattr(asgi, "turns", Turns(most=settings.WEB_THREADS // 4))
        many = [asyncio.create_task(answer_to(asgi, of_client(GREEDY))) for _ in range(settings.WEB_THREADS)]
        await asyncio.wait_for(is_full.wait(), SOON)
        await answer_to(asgi, of_client("203.0.113.2"))
        assert entered == [GREEDY] * (settings.WEB_THREADS // 4) + ["203.0.113.2"]
        may_answer.set()
        await asyncio.gather(*many)
        assert entered.count(GREEDY) == settings.WEB_THREADS

    asyncio.run(run())


def test_a_client_that_reads_slowly_lets_others_of_its_address_go_on(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        monkeypatch.setattr(asgi, "turns", Turns(most=1))
        begin_to_read = asyncio.Event()

        async def send(_: object) -> None:
            await begin_to_read.wait()

        slow = asyncio.create_task(asgi.application({**of_client(GREEDY), "path": SMALL}, never, send))
        messages = await answer_to(asgi, {**of_client(GREEDY), "path": SMALL})
        assert messages[0]["status"] == 200
        begin_to_read.set()
        await slow

    asyncio.run(run())


def sign_in(number: int) -> dict[str, Any]:
    return {**scope("/account/sign-in/", method="POST"), "client": (f"203.0.113.{number}", 1234)}


def test_passwords_wait_for_their_turn_without_a_thread_and_everybody_else_is_served(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        entered: list[str] = []
        is_full, may_answer = asyncio.Event(), asyncio.Event()

        async def pages(request: dict[str, Any], _receive: Any, send: Any) -> None:
            assert BUSY not in request
            entered.append(request["method"])
            if request["method"] == "POST":
                if entered.count("POST") == asgi.PASSWORDS_AT_ONCE:
                    is_full.set()
                await may_answer.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        monkeypatch.setattr(asgi, "pages", pages)
        monkeypatch.setattr(asgi, "PATIENCE", SOON)
        monkeypatch.setattr(asgi, "password_turns", Turns(most=asgi.PASSWORDS_AT_ONCE))
        many = [asyncio.create_task(answer_to(asgi, sign_in(number))) for number in range(40)]
        await asyncio.wait_for(is_full.wait(), SOON)
        await answer_to(asgi, of_client("203.0.113.1"))
        assert entered == ["POST"] * asgi.PASSWORDS_AT_ONCE + ["GET"]
        may_answer.set()
        await asyncio.gather(*many)
        assert entered.count("POST") == 40

    asyncio.run(run())


def test_a_password_that_has_waited_too_long_is_passed_on_as_such_and_leaves_its_place(
    asgi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        busy: list[bool] = []
        at_once: list[int] = []
        others = 0

        async def pages(request: dict[str, Any], _receive: Any, _send: Any) -> None:
            nonlocal others
            busy.append(request.get(BUSY, False))
            at_once.append(others := others + 1)
            for _ in range(100):
                await asyncio.sleep(0)  # the others could come meanwhile
            others -= 1

        monkeypatch.setattr(asgi, "pages", pages)
        monkeypatch.setattr(asgi, "PATIENCE", 0.0)
        monkeypatch.setattr(asgi, "password_turns", Turns(most=1))
        turn = await asgi.password_turns.take("password")
        many = [asyncio.create_task(answer_to(asgi, sign_in(number))) for number in range(3)]
        await asyncio.gather(*many)
        assert at_once == [1, 1, 1], "those that are refused go one after another as well"
        turn.end()
        monkeypatch.setattr(asgi, "PATIENCE", SOON)
        await answer_to(asgi, sign_in(1))
        assert busy == [True, True, True, False]

    asyncio.run(run())
