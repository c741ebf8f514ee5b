"""An agent is anybody's code: a host survives whatever one raises or returns, and stores what can be stored (A1)."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from orders.engine.agent_host.storable import (
    LARGEST_ANSWER,
    LONGEST_MESSAGE,
    LONGEST_WAIT,
)
from orders.engine.contracts import Request
from orders.engine.errors import Declined, Refused, Transient, Unresolved
from orders.engine.runtime.text import LONGEST_CODE
from orders.models import AgentReply, AgentRequest, Alert, Circuit, Event
from tests.support.agents import ScriptedAgent
from tests.support.hosts import QUICK, a_reply, a_request
from tests.support.roles import a_host, a_scheduler, drain, running, stored
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

BAD_CODES = {
    "80 characters": "x" * 80,
    "a NUL": "no\x00t",
    "half a surrogate pair": "no\ud800",
    "several lines": "no\nnot\tthis",
    "nothing": "",
    "no text": None,
}
BAD_MESSAGES = {"a megabyte": "x" * 1_000_000, "a NUL": "it \x00", "half a surrogate pair": "it \ud800"}


class Mute(RuntimeError):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no")


class Unspeakable:
    """A value that cannot be turned into text."""

    def __str__(self) -> str:
        raise ValueError("no")


def raises(error: BaseException) -> Callable[[Request], Any]:
    async def script(request: Request) -> NoReturn:
        raise error

    return script


def returns(answer: Any) -> Callable[[Request], Any]:
    async def script(request: Request) -> Any:
        return answer

    return script


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


def after(script: Any) -> AgentReply:
    """The reply to a request whose agent does this, once the same host has also served another request."""
    bad = a_request()
    with running(a_host(ScriptedAgent("kitchen", script, {"dough": 1}), **QUICK)):
        until(lambda: AgentReply.objects.filter(order_id=bad.order_id).exists(), what="the reply")
        good = a_request()
        until(lambda: AgentReply.objects.filter(order_id=good.order_id).exists(), what="the next reply")
    assert not AgentRequest.objects.exists()
    return AgentReply.objects.get(order_id=bad.order_id)


@pytest.mark.pattern("A1", "A6")
@pytest.mark.parametrize("fault", [Refused, Declined, Unresolved])
@pytest.mark.parametrize("code", BAD_CODES.values(), ids=BAD_CODES)
def test_a_code_that_cannot_be_stored_is_made_storable(fault: type[Refused], code: Any) -> None:
    reply = after(raises(fault(code, "the oven is cold")))
    assert 1 <= len(reply.body["code"]) <= LONGEST_CODE
    assert reply.body["message"] == "the oven is cold"
    drain(a_scheduler())
    order = stored(reply.order_id)
    alert = Alert.objects.filter(order_id=order.pk).first()
    if reply.outcome == "declined":
        assert (order.process_state, alert) == ("processing", None)
    else:
        assert alert is not None
        assert (order.process_state, alert.kind, alert.code) == ("error", "step_failed", reply.body["code"])


@pytest.mark.pattern("A1", "A8")
@pytest.mark.parametrize("code", BAD_CODES.values(), ids=BAD_CODES)
def test_a_code_that_cannot_be_stored_does_not_keep_the_circuit_from_opening(code: Any) -> None:
    for _ in range(6):
        a_request()
    with running(a_host(ScriptedAgent("kitchen", raises(Transient(code, "busy"))), **QUICK)):
        until(lambda: Circuit.objects.filter(state="open").exists(), what="the circuit to open")
    cause = Circuit.objects.get().cause_code
    assert 1 <= len(cause) <= LONGEST_CODE
    assert Alert.objects.get().code == cause
    assert {event.detail["code"] for event in Event.objects.filter(kind="call_failed")} == {cause}


@pytest.mark.parametrize("message", BAD_MESSAGES.values(), ids=BAD_MESSAGES)
def test_a_message_that_cannot_be_stored_is_made_storable(message: str) -> None:
    reply = after(raises(Refused("no", message)))
    assert len(reply.body["message"]) <= LONGEST_MESSAGE + 1
    assert reply.body["message"][0] == message[0]


@pytest.mark.pattern("A1")
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        RecursionError("too deep"),
        MemoryError(),
        Mute(),
        BaseExceptionGroup("several", [SystemExit(1)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_host_survives_whatever_its_agent_raises(error: BaseException) -> None:
    reply = after(raises(error))
    assert (reply.outcome, reply.body["code"]) == ("failed", "agent_failed")
    assert type(error).__name__ in reply.body["message"]


@pytest.mark.pattern("A1")
@pytest.mark.parametrize(
    "answer",
    [
        float("nan"),
        {"at": object()},
        {"text": "a \x00"},
        {"text": "\ud800"},
        deep(),
        {"text": "x" * (LARGEST_ANSWER + 1)},
        {Unspeakable(): 1},
    ],
    ids=["NaN", "an object", "a NUL", "half a surrogate pair", "too deep", "too large", "a key"],
)
def test_a_host_survives_whatever_its_agent_returns(answer: Any) -> None:
    reply = after(returns(answer))
    assert (reply.outcome, reply.body["code"]) == ("failed", "agent_failed")


@pytest.mark.parametrize("wait", [float("nan"), -3, 0, "soon", None])
def test_a_wait_that_is_no_number_of_seconds_is_no_wait(wait: Any) -> None:
    a_request()
    a_host(ScriptedAgent("kitchen", Transient("busy", "later", retry_after=wait), {"dough": 1})).run_once()
    assert (a_reply().outcome, a_reply().calls) == ("done", 2)
    assert json.dumps(a_reply().body) == '{"dough": 1}'


@pytest.mark.parametrize("wait", [1e15, float("inf"), 10**400])
def test_no_wait_is_longer_than_an_hour(wait: float) -> None:
    a_request()
    a_host(ScriptedAgent("kitchen", Transient("busy", "later", retry_after=wait))).run_once()
    assert a_reply().body["retry_after"] == LONGEST_WAIT
