"""One remote call with its retries: inside the complete-by, with backoff, and silent after it (A2–A6)."""

import asyncio
import json
import time
from typing import Any
from uuid import UUID

import pytest

from orders.engine.agent_host.call import MARGIN, NOTES_KEPT, Call
from orders.engine.agent_host.statistics import CallStats
from orders.engine.channels.leases import Answer, Lease
from orders.engine.contracts import Json, Request
from orders.engine.errors import Declined, Fault, Refused, Transient, Unresolved
from orders.vocabulary import CallOutcome, EventKind, ReplyOutcome
from tests.support.agents import ScriptedAgent

ORDER = UUID("01936c2e-0000-7000-8000-0000000000aa")
BLIP = Transient("http_503", "try again")
PLENTY = 60.0
"""Seconds to complete-by; far longer than any test here takes."""


def lease(seconds_left: float = PLENTY, **fields: Any) -> Lease:
    defaults: dict[str, Any] = {
        "id": 7,
        "deliveries": 1,
        "order_id": ORDER,
        "step": "mix",
        "agent": "kitchen",
        "operation": "mix-it",
        "attempt": 2,
        "compensates": False,
        "key": f"{ORDER}/mix/1",
        "reverses": "",
        "body": {"data": {"portions": 3}, "results": {}},
        "seconds_left": seconds_left,
    }
    return Lease(**(defaults | fields))


def make(agent: ScriptedAgent, leased: Lease | None = None) -> Call:
    return Call(lease=leased or lease(), agent=agent, stats=CallStats(), lease_seconds=8.0)


def failures(call: Call) -> list[dict[str, Any]]:
    """The failed tries that go into the order's history."""
    assert {kind for kind, _ in call.notes} <= {EventKind.CALL_FAILED}
    return [detail for _, detail in call.notes]


def run(agent: ScriptedAgent, seconds_left: float = PLENTY) -> tuple[Answer, Call]:
    async def in_loop() -> tuple[Answer, Call]:
        call = make(agent, lease(seconds_left))
        return await call.run(), call

    return asyncio.run(in_loop())


async def hang(request: Request) -> Json:
    await asyncio.Event().wait()
    raise AssertionError("never")


def scripted(*script: Any, call_timeout: float = 5.0) -> ScriptedAgent:
    return ScriptedAgent("kitchen", *script, call_timeout=call_timeout)


@pytest.mark.pattern("A4")
def test_a_successful_call_answers_done_with_the_agents_result() -> None:
    answer, call = run(scripted({"cake": 1}))
    assert answer[:5] == (7, 1, "done", '{"cake": 1}', 1)
    assert call.notes == []


@pytest.mark.pattern("A3", "C5")
def test_the_agent_is_given_the_whole_request() -> None:
    agent = scripted({})
    run(agent, seconds_left=42.0)
    assert agent.requests == [
        Request(
            order_id=ORDER,
            step="mix",
            operation="mix-it",
            attempt=2,
            key=f"{ORDER}/mix/1",
            data={"portions": 3},
            results={},
            compensates=False,
            reverses="",
            seconds_left=42.0,
        )
    ]


@pytest.mark.pattern("C10")
@pytest.mark.parametrize(("compensates", "method"), [(False, "perform"), (True, "compensate")])
def test_a_compensating_request_calls_the_agents_compensate(compensates: bool, method: str) -> None:
    class Twofold(ScriptedAgent):
        async def perform(self, request: Request) -> Json:
            return {"method": "perform"}

        async def compensate(self, request: Request) -> Json:
            return {"method": "compensate"}

    async def in_loop() -> Answer:
        return await make(Twofold("kitchen"), lease(compensates=compensates)).run()

    assert json.loads(asyncio.run(in_loop()).body) == {"method": method}


@pytest.mark.pattern("A2", "A3")
def test_a_transient_fault_is_tried_again_with_the_same_key() -> None:
    agent = scripted(BLIP, {"ok": True})
    answer, call = run(agent)
    assert (answer.outcome, answer.calls) == ("done", 2)
    assert [request.key for request in agent.requests] == [f"{ORDER}/mix/1"] * 2
    assert [(failure["try"], failure["code"], failure["message"]) for failure in failures(call)] == [
        (1, "http_503", "try again")
    ]


@pytest.mark.pattern("A2")
def test_a_wait_that_the_remote_asks_for_is_honoured() -> None:
    tried: list[float] = []

    async def busy(request: Request) -> Json:
        tried.append(time.monotonic())
        raise Transient("http_429", "slow down", retry_after=0.5)

    async def ready(request: Request) -> Json:
        tried.append(time.monotonic())
        return {}

    assert run(scripted(busy, ready))[0].outcome == "done"
    assert tried[1] - tried[0] >= 0.49


@pytest.mark.pattern("A5")
def test_a_call_does_not_wait_for_as_long_as_the_remote_asks() -> None:
    """Its step does, without a request that holds a place at the agent."""
    began = time.monotonic()
    answer, _ = run(scripted(Transient("http_503", "later", retry_after=3_600.0)))
    assert (answer.outcome, answer.calls) == (ReplyOutcome.DEFERRED, 1)
    assert json.loads(answer.body) == {"code": "http_503", "message": "later", "retry_after": 3_600.0}
    assert time.monotonic() - began < PLENTY / 2


@pytest.mark.pattern("A2", "A5")
def test_tries_continue_until_complete_by_and_then_the_call_is_abandoned() -> None:
    agent = scripted(BLIP)
    answer, call = run(agent, seconds_left=MARGIN + 0.6)
    assert (answer.outcome, answer.body) == (ReplyOutcome.ABANDONED, "{}")
    assert answer.calls == len(agent.requests) == len(failures(call))


@pytest.mark.pattern("A5")
def test_an_agent_that_hangs_is_stopped_before_the_complete_by() -> None:
    answer, call = run(scripted(hang), seconds_left=MARGIN + 0.3)
    assert (answer.outcome, answer.calls) == (ReplyOutcome.ABANDONED, 1)
    (failure,) = failures(call)
    assert failure["message"] in {f"no answer within 0.{tenths} s" for tenths in (1, 2, 3)}


@pytest.mark.pattern("A2")
def test_a_try_that_hangs_leaves_time_for_more_tries() -> None:
    answer, call = run(scripted(hang, {"ok": True}, call_timeout=0.05))
    assert (answer.outcome, answer.calls) == ("done", 2)
    assert failures(call)[0]["code"] == "no_answer"
    assert 0.04 <= failures(call)[0]["seconds"] < 5.0


@pytest.mark.pattern("A5")
@pytest.mark.parametrize("seconds_left", [MARGIN, 0.0, -1.0])
def test_a_call_whose_time_is_up_before_it_begins_calls_no_agent(seconds_left: float) -> None:
    """Another instance may already have the step, or its compensation may already have been sent."""
    agent = scripted({"too": "late"})
    answer, _ = run(agent, seconds_left)
    assert (answer.outcome, agent.requests) == (ReplyOutcome.ABANDONED, [])


@pytest.mark.pattern("A6")
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Refused("no_flour", "there is none"), "refused"),
        (Declined("no_flour", "there is none"), "declined"),
        (Unresolved("no_flour", "there is none"), "failed"),
        (Fault("no_flour", "there is none"), "failed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Fault) else value,
)
def test_a_nontransient_fault_is_answered_at_once(fault: Fault, outcome: str) -> None:
    agent = scripted(fault)
    answer, call = run(agent)
    assert answer[:5] == (7, 1, outcome, '{"code": "no_flour", "message": "there is none"}', 1)
    assert len(agent.requests) == 1
    assert [failure["code"] for failure in failures(call)] == ["no_flour"]


@pytest.mark.pattern("A6")
def test_a_refusal_after_a_transient_fault_is_answered() -> None:
    answer, call = run(scripted(BLIP, Refused("no_flour", "there is none")))
    assert (answer.outcome, answer.calls, len(failures(call))) == ("refused", 2, 2)


@pytest.mark.pattern("A6")
def test_an_unexpected_error_in_an_agent_leaves_the_outcome_unknown() -> None:
    answer, _ = run(scripted(ZeroDivisionError("in the recipe")))
    assert answer.outcome == "failed"
    assert json.loads(answer.body) == {
        "code": "agent_failed",
        "message": "ZeroDivisionError: in the recipe",
    }


@pytest.mark.pattern("A6")
@pytest.mark.parametrize(
    "result",
    [{"at": object()}, {"weight": float("nan")}, {"name": "a\x00b"}, {"name": "\ud800"}],
    ids=["not JSON", "not a number", "a NUL", "a lone surrogate"],
)
def test_an_answer_that_cannot_be_stored_is_a_failure_and_does_not_end_the_host(result: Json) -> None:
    """The effect may have happened. PostgreSQL's jsonb would refuse the whole statement, with all its answers."""
    answer, _ = run(scripted(result))
    assert (answer.outcome, json.loads(answer.body)["code"]) == ("failed", "agent_failed")


def test_a_message_that_cannot_be_stored_is_made_storable() -> None:
    answer, call = run(scripted(ValueError("a\x00b \ud800")))
    for text in (answer.body, json.dumps(failures(call))):
        assert "\\u0000" not in text
        assert "\\ud800" not in text


def test_a_timeout_raised_by_the_agent_is_transient() -> None:
    answer, call = run(scripted(TimeoutError(), {"ok": True}))
    assert (answer.outcome, [failure["code"] for failure in failures(call)]) == ("done", ["no_answer"])


@pytest.mark.pattern("A5")
def test_a_cancelled_call_has_no_answer() -> None:
    """Its lease was lost: another instance may have the request."""

    async def in_loop() -> None:
        task = asyncio.create_task(make(scripted(hang)).run())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(in_loop())


def test_a_call_keeps_a_limited_number_of_failures_for_the_history() -> None:
    async def in_loop() -> Call:
        call = make(scripted({}))
        for _ in range(NOTES_KEPT + 5):
            call._note(BLIP, time.monotonic())
        return call

    assert len(failures(asyncio.run(in_loop()))) == NOTES_KEPT


def test_a_call_holds_its_delivery_of_the_request_until_its_lease_lapses() -> None:
    call = make(scripted({}), lease(id=7, deliveries=3))
    assert call.held == (7, 3)
    assert 7.0 < call.held_until.left() <= 8.0
    call.confirm(2.0)
    assert 1.0 < call.held_until.left() <= 2.0


def test_calls_and_failed_calls_are_counted_and_timed() -> None:
    stats = CallStats()
    stats.record(seconds=1.0, outcome=CallOutcome.OK)
    assert stats == CallStats(calls=1, failed_calls=0, mean_seconds=1.0)
    stats.record(seconds=2.0, outcome=CallOutcome.TIMEOUT)
    assert (stats.calls, stats.failed_calls) == (2, 1)
    assert stats.mean_seconds == pytest.approx(1.1)
    stats.record(seconds=1.0, outcome=CallOutcome.DECLINED)
    figures = stats.figures()
    assert (figures.calls, figures.failed_calls, figures.recent_failures) == (3, 1, 1), (
        "it answered, with a no"
    )
