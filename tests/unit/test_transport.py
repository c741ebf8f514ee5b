"""One call of a remote service: what it carries, which fault each answer is, and that its size is bounded (F15)."""

import contextlib
import gzip
import json
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from aiohttp import web

from orders.agents.transport import (
    LARGEST_ANSWER,
)
from orders.engine.errors import Declined, Refused, Transient, Unresolved
from tests.support.remote import answering, call, fault_of

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.pattern("A3")
def test_a_call_carries_its_key_and_its_body() -> None:
    seen: dict[str, Any] = {}

    async def handler(request: web.Request) -> web.Response:
        seen.update(key=request.headers["Idempotency-Key"], path=request.path, body=await request.json())
        return web.json_response({"reservation": "r1"})

    assert call(handler) == {"reservation": "r1"}
    assert seen == {"key": "order/step/1", "path": "/operation", "body": {"order_id": "1"}}


@pytest.mark.pattern("A2")
def test_500_after_the_effect_is_transient() -> None:
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


def test_402_is_for_the_customer_to_resolve() -> None:
    body = json.dumps({"error": {"code": "card_declined", "message": "The card was declined"}})
    fault = fault_of(answering(402, body))
    assert type(fault) is Declined
    assert (fault.code, fault.message) == ("card_declined", "The card was declined")


def test_422_is_a_definite_no() -> None:
    fault = fault_of(answering(422, '{"error": {"code": "out_of_stock", "message": "None left"}}'))
    assert type(fault) is Refused
    assert fault.code == "out_of_stock"


def test_a_refusal_without_a_message_is_still_a_refusal() -> None:
    assert fault_of(answering(422, "<html>")).code == "http_422"


def test_a_refusal_of_any_size_is_a_refusal() -> None:
    assert type(fault_of(answering(422, "x" * (LARGEST_ANSWER + 1)))) is Refused


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_loopback_is_not_followed(status: int) -> None:
    calls: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        calls.append(request.path)
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    assert type(fault_of(handler)) is Unresolved
    assert calls == ["/operation"]


def test_an_answer_of_a_gigabyte_is_cut_short() -> None:
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


@pytest.mark.parametrize("body", ["", "nonsense", "[]", '{"a": "\\u0000"}'])
def test_an_unreadable_200_is_transient(body: str) -> None:
    fault = fault_of(answering(200, body))
    assert type(fault) is Transient
    assert fault.code == "bad_answer"
