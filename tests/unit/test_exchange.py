"""What is kept of a failed call: its status and headers, and no secret."""

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from orders.agents.exchange import LONGEST_VALUE, MASKED, MOST_HEADERS, exchange, is_secret
from orders.agents.transport import Remote
from orders.engine.errors import Fault, Refused, Transient
from tests.support.remote import BOUND, serving
from tests.unit.test_calls import failures, run, scripted

TOKEN = "t0p-s3cret-of-ours"
KEPT = {"status": 503, "answered": {"Server": "x"}}


def fault_of_call() -> Fault:
    """A call with our token to a service that fails, repeats the token, and sets a cookie."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(
            status=503,
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
    )
    assert record["path"] == "/calls"
    assert [len(value) for value in record["answered"].values()] == [LONGEST_VALUE] * MOST_HEADERS


@pytest.mark.parametrize("fault", [Transient("http_503", "no"), Refused("no_route", "no")])
def test_the_history_has_what_the_agent_kept_of_a_failed_call(fault: Fault) -> None:
    fault.exchange = KEPT
    _, call = run(scripted(fault, {}))
    assert failures(call)[0]["exchange"] == KEPT


@pytest.mark.parametrize("unusable", [{"status": "\x00"}, {"status": object()}, {"status": "x" * 10_000}])
def test_what_cannot_be_stored_of_a_call_is_left_out(unusable: dict[str, Any]) -> None:
    fault = Transient("http_503", "no")
    fault.exchange = unusable
    answer, call = run(scripted(fault, {}))
    assert answer.outcome == "done"
    assert "exchange" not in failures(call)[0]
