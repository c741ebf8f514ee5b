"""What is kept of a call: its status and headers, the body of an error, and no secret."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from orders.agents.exchange import (
    LONGEST_BODY,
    LONGEST_VALUE,
    MASKED,
    MOST_HEADERS,
    SHORT_VALUE,
    TELLING,
    exchange,
    is_secret,
    short_exchange,
)
from orders.agents.transport import Remote
from orders.engine.agent_host.storable import SHORT_EXCHANGE
from orders.engine.contracts import Json, Request
from orders.engine.errors import Fault, Refused, Transient
from orders.engine.exchanges import note_exchange, noting
from orders.engine.runtime.text import strict_json
from tests.support.remote import BOUND, serving
from tests.unit.test_calls import failures, run, scripted

TOKEN = "t0p-s3cret-of-ours"
KEPT = {"status": 503, "answered": {"Server": "x"}}


def fault_of_call() -> Fault:
    """A call with our token to a service that fails, repeats the token, and sets a cookie."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(
            status=503,
            text=f'{{"code": "busy", "echo": "{TOKEN}"}}',
            headers={
                "Set-Cookie": "id=1",
                "X-Request-Id": "r-17",
                "X-Echo": f"you sent {TOKEN}",
                "X-Api-Key": "k",
            },
        )

    async def go() -> None:
        async with serving(answer) as url:
            remote = Remote(url, token=TOKEN)
            try:
                await remote.post("shipments", key="order/step/1", body={})
            finally:
                await remote.close()

    with pytest.raises(Fault) as caught:
        asyncio.run(asyncio.wait_for(go(), BOUND))
    return caught.value


def test_a_failed_call_keeps_its_status_and_headers_without_secrets() -> None:
    record = fault_of_call().exchange
    assert record is not None
    assert (record["method"], record["path"], record["status"]) == ("POST", "/shipments", 503)
    assert record["sent"]["Authorization"] == MASKED and record["sent"]["Idempotency-Key"] == "order/step/1"
    answered = {name.lower(): value for name, value in record["answered"].items()}
    assert answered["x-request-id"] == "r-17"
    assert [answered[name] for name in ("set-cookie", "x-api-key")] == [MASKED, MASKED]
    assert [name.lower() for name in record["masked"]] == ["authorization", "set-cookie", "x-api-key"]
    assert record["body"] == f'{{"code": "busy", "echo": "{MASKED}"}}'
    assert TOKEN not in json.dumps(record)


@pytest.mark.parametrize(
    ("header", "masked"),
    [
        *(
            (name, True)
            for name in ("Authorization", "cookie", "SET-COOKIE", "X-Auth-Token", "Api-Key", "X-Key")
        ),
        *(
            (name, True)
            for name in ("Proxy-Authorization", "X-Client-Secret", "Webhook-Signature", "X-Session")
        ),
        *((name, False) for name in ("Idempotency-Key", "Date", "Content-Type", "Retry-After", "X-Monkey")),
    ],
)
def test_a_header_is_masked_by_its_name(header: str, masked: bool) -> None:
    assert is_secret(header) is masked


def test_what_is_kept_is_bounded_and_leaves_out_the_query() -> None:
    record = exchange(
        method="GET",
        path="/calls?key=abc",
        sent={},
        status=200,
        answered={f"X-{n}": "v" * 5_000 for n in range(500)},
        secrets=[],
        body=b"\x00\xff" * 5_000,
    )
    assert record["path"] == "/calls"
    assert len(record["body"]) == LONGEST_BODY and strict_json(record)
    assert [len(value) for value in record["answered"].values()] == [LONGEST_VALUE] * MOST_HEADERS


@pytest.mark.parametrize("fault", [Transient("http_503", "no"), Refused("no_route", "no")])
def test_the_history_has_what_the_agent_kept_of_a_failed_call(fault: Fault) -> None:
    fault.exchange = KEPT
    _, call = run(scripted(fault, {}))
    assert failures(call)[0]["exchange"] == KEPT


@pytest.mark.parametrize("unusable", [{"status": "\x00"}, {"status": object()}, {"status": "x" * 20_000}])
def test_what_cannot_be_stored_of_a_call_is_left_out(unusable: dict[str, Any]) -> None:
    fault = Transient("http_503", "no")
    fault.exchange = unusable
    answer, call = run(scripted(fault, {}))
    assert answer.outcome == "done"
    assert "exchange" not in failures(call)[0]


def exchange_of_call(headers: Mapping[str, str]) -> Mapping[str, Any] | None:
    """What is noted of a call that a service answers with these headers."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"shipment": 7}, status=201, headers=headers)

    async def go() -> Mapping[str, Any] | None:
        async with serving(answer) as url:
            remote = Remote(url, token=TOKEN)
            try:
                with noting() as note:
                    assert await remote.post("shipments?x=1", key="order/step/1", body={}) == {"shipment": 7}
            finally:
                await remote.close()
        return note.exchange

    return asyncio.run(asyncio.wait_for(go(), BOUND))


def test_credentials_that_a_service_sends_back_are_not_kept() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"you sent": request.headers["Authorization"]}, status=422)

    async def go() -> None:
        async with serving(answer) as url:
            remote = Remote(url.replace("http://", "http://ann:p%40ss@"))
            try:
                await remote.post("shipments", key="order/step/1", body={})
            finally:
                await remote.close()

    with pytest.raises(Refused) as caught:
        asyncio.run(asyncio.wait_for(go(), BOUND))
    assert caught.value.exchange is not None
    assert json.loads(caught.value.exchange["body"]) == {"you sent": f"Basic {MASKED}"}


def test_a_secret_that_an_answer_repeats_is_cut_out_of_its_body_however_it_is_written() -> None:
    record = exchange(
        method="GET",
        path="/",
        sent={},
        status=400,
        answered={},
        secrets=['s"1'],
        body=json.dumps({"token": 's"1', "plain": "s"}).encode(),
    )
    assert json.loads(record["body"]) == {"token": MASKED, "plain": "s"}


def test_a_call_that_succeeded_keeps_its_status_and_the_headers_that_tell_something() -> None:
    record = exchange_of_call({"X-Request-Id": f"r-17 {TOKEN}", "Set-Cookie": "id=1", "X-Other": "no"})
    assert record is not None
    assert (record["method"], record["path"], record["status"]) == ("POST", "/shipments", 201)
    assert set(record["answered"]) == {"content-type", "date", "server", "x-request-id"}
    assert record["answered"]["x-request-id"] == f"r-17 {MASKED}"
    assert set(record) == {"method", "path", "status", "answered"}


def test_what_is_kept_of_a_success_is_brief_whatever_the_service_sends() -> None:
    headers = dict.fromkeys(TELLING, "v" * 5_000)
    record = short_exchange(method="POST", path="/" + "p" * 500, status=200, answered=headers, secrets=[])
    assert {len(value) for value in record["answered"].values()} == {SHORT_VALUE}
    assert len(strict_json(record)) <= SHORT_EXCHANGE


def noting_agent(record: Mapping[str, Any], result: Json) -> Any:
    """An agent whose calls succeed, and note this."""

    async def perform(request: Request) -> Json:
        note_exchange({"status": 500})
        note_exchange(record)
        return result

    return scripted(perform)


def test_an_answer_carries_what_was_noted_of_the_last_call() -> None:
    answer, _ = run(noting_agent({"status": 201}, {"shipment": 7}))
    assert (answer.outcome, answer.exchange) == ("done", {"status": 201})
    plain, _ = run(scripted({}))
    assert plain.exchange is None


@pytest.mark.parametrize("unusable", [{"status": "\x00"}, {"status": object()}, {"status": "x" * 2_000}])
def test_what_cannot_be_stored_of_an_answer_is_left_out(unusable: dict[str, Any]) -> None:
    answer, _ = run(noting_agent(unusable, {"shipment": 7}))
    assert (answer.outcome, answer.exchange) == ("done", None)


def test_a_call_whose_answer_cannot_be_used_shows_what_was_answered() -> None:
    answer, call = run(noting_agent({"status": 201}, {"shipment": object()}))
    assert (answer.outcome, answer.exchange) == ("failed", None)
    assert failures(call)[0]["exchange"] == {"status": 201}
