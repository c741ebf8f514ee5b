"""What real services ask for: methods, forms, the place of the key, credentials. And no secret shows (A3)."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest
from aiohttp import web

from orders.agents import Refused, Remote, Transient, Unresolved
from orders.engine.errors import Fault
from tests.support.remote import BOUND, Handler, answering, serving

KEY = "order/step/1"
SECRET = "sk_live_4f9a8c"


def use(
    handler: Handler, work: Callable[[Remote], Awaitable[Any]], *, at: str = "{url}", **settings: Any
) -> Any:
    """Uses a remote of a server with this handler; `at` says where in its url."""

    async def run() -> Any:
        async with serving(handler) as url:
            remote = Remote(at.format(url=url, host=url.removeprefix("http://")), **settings)
            try:
                return await work(remote)
            finally:
                await remote.close()

    return asyncio.run(asyncio.wait_for(run(), BOUND))


def sent(work: Callable[[Remote], Awaitable[Any]], **settings: Any) -> tuple[web.Request, str]:
    """What a server receives: the request and its body."""
    received: list[tuple[web.Request, str]] = []

    async def handler(request: web.Request) -> web.Response:
        received.append((request, await request.text()))
        return web.json_response({})

    use(handler, work, **settings)
    (only,) = received
    return only


@pytest.mark.pattern("A3")
def test_a_put_carries_its_key_and_keeps_a_quoted_path() -> None:
    request, body = sent(
        lambda remote: remote.put(f"bookings/{quote(KEY, safe='')}", key=KEY, body={"room": 7})
    )
    assert (request.method, request.raw_path) == ("PUT", "/bookings/order%2Fstep%2F1")
    assert (request.headers["Idempotency-Key"], body) == (KEY, '{"room": 7}')


@pytest.mark.parametrize("method", ["get", "post", "put"])
def test_a_call_that_is_cut_off_is_sent_once(method: str) -> None:
    """Its host tries again, when it is time, and knows of each try."""
    methods: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        methods.append(request.method)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    options: dict[str, Any] = {} if method == "get" else {"key": KEY, "body": {}}
    with pytest.raises(Transient):
        use(handler, lambda remote: getattr(remote, method)("book", **options))
    assert methods == [method.upper()]


@pytest.mark.parametrize("method", ["post", "put"])
def test_a_form_carries_texts_numbers_truth_values_and_lists(method: str) -> None:
    fields = {"name": "Ångström & Søn", "amount": 1250, "rate": 0.5, "capture": False, "tag": ["a", "b"]}
    request, body = sent(
        lambda remote: getattr(remote, method)("charges", key=KEY, body=fields, as_form=True)
    )
    assert request.content_type == "application/x-www-form-urlencoded"
    assert parse_qsl(body, strict_parsing=True) == [
        ("name", "Ångström & Søn"),
        ("amount", "1250"),
        ("rate", "0.5"),
        ("capture", "false"),
        ("tag", "a"),
        ("tag", "b"),
    ]


@pytest.mark.parametrize("value", [None, {"a": 1}, [None]])
def test_what_a_form_cannot_carry_is_not_sent(value: Any) -> None:
    with pytest.raises(TypeError, match="'field'"):
        sent(lambda remote: remote.post("charges", key=KEY, body={"field": value}, as_form=True))


@pytest.mark.pattern("A3")
def test_the_key_is_in_the_header_that_the_service_wants() -> None:
    request, _ = sent(lambda remote: remote.post("book", key=KEY, body={}), key_header="X-Request-Id")
    assert request.headers["X-Request-Id"] == KEY
    assert "Idempotency-Key" not in request.headers


@pytest.mark.pattern("A3")
@pytest.mark.parametrize(
    ("as_form", "body"),
    [(False, '{"room": 7, "reference": "order/step/1"}'), (True, "room=7&reference=order%2Fstep%2F1")],
)
def test_the_key_is_in_the_field_that_the_service_wants(as_form: bool, body: str) -> None:
    request, text = sent(
        lambda remote: remote.post("book", key=KEY, body={"room": 7}, as_form=as_form), key_field="reference"
    )
    assert text == body
    assert "Idempotency-Key" not in request.headers


def test_no_field_of_the_body_is_replaced_by_the_key() -> None:
    with pytest.raises(ValueError, match="'reference'"):
        sent(lambda remote: remote.post("book", key=KEY, body={"reference": 1}), key_field="reference")


@pytest.mark.parametrize("name", ["", "two words", "X:Y", "Authorization", "content-type"])
def test_the_key_needs_a_header_of_its_own(name: str) -> None:
    with pytest.raises(ValueError, match="key_header"):
        Remote("http://127.0.0.1", key_header=name)


def test_every_call_carries_the_token() -> None:
    for work in (
        lambda remote: remote.get("rooms"),
        lambda remote: remote.post("book", key=KEY, body={}),
        lambda remote: remote.put("book", key=KEY, body={}, as_form=True),
    ):
        request, _ = sent(work, token=SECRET)
        assert request.headers["Authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("token", [f"{SECRET}\n", f"two {SECRET}", f"{SECRET}é"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ValueError, match=r"^token: ") as caught:
        Remote("http://127.0.0.1", token=token)
    assert SECRET not in str(caught.value)


def test_a_token_and_a_password_exclude_each_other() -> None:
    with pytest.raises(ValueError, match=r"^token: ") as caught:
        Remote("http://user:hunter22@127.0.0.1", token=SECRET)
    assert SECRET not in str(caught.value) and "hunter22" not in str(caught.value)


def test_an_answer_without_content_is_an_empty_object() -> None:
    assert use(answering(204, ""), lambda remote: remote.post("book", key=KEY, body={})) == {}


def everything_about(fault: Fault) -> str:
    return "".join(traceback.format_exception(fault)) + repr(fault) + repr(fault.__cause__)


@pytest.mark.parametrize("status", [400, 401, 402, 500])
def test_a_secret_that_the_service_repeats_is_not_shown(status: int) -> None:
    async def handler(request: web.Request) -> web.Response:
        error = {"code": f"bad_{SECRET}", "message": f"{request.headers['Authorization']} is no good"}
        return web.json_response({"error": error}, status=status)

    with pytest.raises(Fault) as caught:
        use(handler, lambda remote: remote.post("book", key=KEY, body={}), token=SECRET)
    assert "(secret) is no good" in caught.value.message
    assert SECRET not in everything_about(caught.value)


@pytest.mark.parametrize("path", ["book", "\x00"])
def test_credentials_are_in_no_fault_of_a_call_that_fails(path: str) -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n")
        request.transport.abort()
        return web.Response()

    for at, settings in (("http://user:hunter22@{host}", {}), ("{url}", {"token": SECRET})):
        with pytest.raises(Fault) as caught:
            use(handler, lambda remote: remote.post(path, key=KEY, body={}), at=at, **settings)
        assert "hunter22" not in everything_about(caught.value)
        assert SECRET not in everything_about(caught.value)


def test_an_invalid_url_shows_no_password() -> None:
    async def run() -> None:
        remote = Remote("ftp://user:hunter22@remote.invalid")
        try:
            await remote.post("book", key=KEY, body={})
        finally:
            await remote.close()

    with pytest.raises(Refused) as caught:
        asyncio.run(run())
    assert "hunter22" not in everything_about(caught.value)


def test_a_remote_shows_no_secret() -> None:
    for remote in (Remote("http://u:hunter22@127.0.0.1"), Remote("http://127.0.0.1", token=SECRET)):
        assert "hunter22" not in repr(remote) and SECRET not in repr(remote)


def test_a_token_that_is_not_accepted_is_left_to_an_operator() -> None:
    with pytest.raises(Unresolved) as caught:
        use(answering(401), lambda remote: remote.post("book", key=KEY, body={}), token=SECRET)
    assert caught.value.code == "misconfigured"
