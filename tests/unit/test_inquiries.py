"""Before a call that may repeat an effect, the remote service is asked what has become of the earlier one (A7, P2)."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from orders.engine.agent_host.call import Call
from orders.engine.agent_host.circuit_view import CircuitView
from orders.engine.agent_host.statistics import CallStats
from orders.engine.channels.leases import Answer
from orders.engine.contracts import Done, NotDone, Unknown
from orders.engine.errors import Refused, Transient, Unresolved
from tests.support.agents import AskableAgent, ScriptedAgent
from tests.unit.test_calls import hang, lease

pytestmark = [pytest.mark.pattern("A7", "F4")]

LOST = Transient("connection_lost", "the connection was lost")
OVER = Transient("http_503", "try again", is_over=True)
DONE = Done(result={"cake": 1})
BAKING = Unknown(reason="still baking")
KEYLESS: dict[str, Any] = {"key_is_known": False}
REPEAT: dict[str, Any] = {"is_repeat": True}


def run(
    agent: ScriptedAgent,
    *,
    seconds_left: float = 60.0,
    circuit: CircuitView | None = None,
    **fields: Any,
) -> tuple[Answer, Call]:
    async def in_loop() -> tuple[Answer, Call]:
        leased = lease(seconds_left, **fields)
        call = Call(lease=leased, agent=agent, stats=CallStats(), lease_seconds=8.0, circuit=circuit)
        answer = await call.run()
        assert answer is not None
        return answer, call

    return asyncio.run(in_loop())


def askable(*script: Any, findings: Sequence[Any], call_timeout: float = 5.0) -> AskableAgent:
    return AskableAgent("kitchen", *script, findings=findings, call_timeout=call_timeout)


def findings(call: Call) -> list[dict[str, Any]]:
    return [detail for kind, detail in call.notes if kind == "inquired"]


def test_a_first_call_is_made_without_asking() -> None:
    for fields in ({}, KEYLESS):
        agent = askable({"cake": 2}, findings=[DONE])
        answer, _ = run(agent, **fields)
        assert (answer.body, agent.inquiries) == ('{"cake": 2}', [])


@pytest.mark.parametrize("fields", [REPEAT, {"deliveries": 2}, REPEAT | KEYLESS, KEYLESS | {"deliveries": 2}])
def test_a_request_that_has_been_carried_out_already_is_not_sent(fields: dict[str, Any]) -> None:
    agent = askable({"cake": 2}, findings=[DONE])
    answer, call = run(agent, **fields)
    assert (answer.outcome, json.loads(answer.body), agent.requests) == ("done", {"cake": 1}, [])
    assert findings(call) == [{"try": 1, "finding": "done", "result": {"cake": 1}}]
    assert len(agent.inquiries) == 1


@pytest.mark.parametrize("compensates", [False, True])
def test_an_inquiry_is_about_the_very_request(compensates: bool) -> None:
    agent = askable(findings=[NotDone()])
    run(agent, compensates=compensates, **REPEAT)
    assert agent.inquiries == agent.requests
    assert agent.requests[0].compensates is compensates


@pytest.mark.parametrize("fields", [REPEAT, REPEAT | KEYLESS])
def test_a_repeat_that_has_not_been_done_is_sent(fields: dict[str, Any]) -> None:
    agent = askable({"cake": 2}, findings=[NotDone()])
    answer, call = run(agent, **fields)
    assert (answer.body, len(agent.requests)) == ('{"cake": 2}', 1)
    assert findings(call) == [{"try": 1, "finding": "not_done"}]


# --- while the key is recognised, a repeat is safe in any case


@pytest.mark.parametrize("finding", [BAKING, LOST, Refused("no", "no"), KeyError("bug"), "done"])
def test_with_a_recognised_key_the_call_follows_whatever_comes_of_the_inquiry(finding: Any) -> None:
    agent = askable(LOST, {"cake": 2}, findings=[finding])
    answer, call = run(agent, **REPEAT)
    assert (answer.body, len(agent.requests), len(agent.inquiries)) == ('{"cake": 2}', 2, 1)
    assert [detail["finding"] for detail in findings(call)] == ["unknown"]


def test_an_agent_that_cannot_be_asked_repeats_with_its_key() -> None:
    agent = ScriptedAgent("kitchen", LOST, {"cake": 2})
    answer, call = run(agent, **REPEAT)
    assert (answer.body, len(agent.requests)) == ('{"cake": 2}', 2)
    assert findings(call) == []  # nobody was asked, and the history does not say so


# --- otherwise nothing is repeated that may have been done, or may still be


def test_without_keys_a_lost_reply_is_found_by_asking() -> None:
    agent = askable(LOST, findings=[DONE])
    answer, call = run(agent, seconds_left=5.0, **KEYLESS)
    assert (answer.outcome, json.loads(answer.body), len(agent.requests)) == ("done", {"cake": 1}, 1)
    assert [kind for kind, _ in call.notes] == ["call_failed", "inquired"]


def test_without_keys_a_call_that_is_over_is_repeated_once_it_is_known_not_to_be_done() -> None:
    agent = askable(OVER, OVER, {"cake": 2}, findings=[NotDone()])
    answer, _ = run(agent, **KEYLESS)
    assert (answer.body, len(agent.requests), len(agent.inquiries)) == ('{"cake": 2}', 3, 2)


@pytest.mark.parametrize(
    ("script", "fields"), [((LOST,), {}), ((hang,), {}), (({"cake": 2},), {"deliveries": 2})]
)
def test_without_keys_a_call_that_may_be_under_way_is_not_repeated(
    script: tuple[Any, ...], fields: dict[str, Any]
) -> None:
    """That it has not been done is no answer yet: the step is sent again only after its settle time."""
    agent = askable(*script, findings=[NotDone()], call_timeout=0.1)
    answer, call = run(agent, seconds_left=2.0, **KEYLESS, **fields)
    assert (answer.outcome, len(agent.requests)) == ("abandoned", 0 if fields else 1)
    assert call.notes[-1][1]["code"] == "still_possible"
    assert len(agent.inquiries) > 1


def test_without_keys_a_call_is_not_repeated_after_one_that_was_over_and_one_that_was_lost() -> None:
    agent = askable(OVER, LOST, findings=[NotDone()])
    answer, _ = run(agent, seconds_left=2.0, **KEYLESS)
    assert (answer.outcome, len(agent.requests)) == ("abandoned", 2)


@pytest.mark.parametrize("finding", [BAKING, OVER])
def test_without_keys_nothing_is_sent_while_the_outcome_is_unknown(finding: Any) -> None:
    agent = askable(findings=[finding, finding, DONE])
    answer, call = run(agent, **REPEAT, **KEYLESS)
    assert (answer.outcome, agent.requests) == ("done", [])
    codes = [detail["code"] for kind, detail in call.notes if kind == "call_failed"]
    assert codes == (["outcome_unknown"] if finding is BAKING else ["http_503"]) * 2


@pytest.mark.pattern("A8")
@pytest.mark.parametrize(
    ("finding", "failures"), [(NotDone(), 0), (BAKING, 0), (OVER, 3)], ids=["not_done", "unknown", "failed"]
)
def test_a_service_that_answers_an_inquiry_has_not_failed_whatever_it_says(
    finding: Any, failures: int
) -> None:
    """A host that dies leaves many calls behind that may be under way. Asking about them must open no circuit."""
    circuit = CircuitView("kitchen")
    agent = askable(findings=[finding, finding, finding, DONE])
    answer, _ = run(agent, circuit=circuit, **KEYLESS, deliveries=2)
    tally = circuit.take()
    assert (answer.outcome, tally.calls, tally.failures) == ("done", 4, failures)


@pytest.mark.parametrize(
    ("finding", "code"),
    [
        (Refused("no", "no"), "no"),
        (Unresolved("misconfigured", "404"), "misconfigured"),
        (KeyError("bug"), "agent_failed"),
        ("done", "agent_failed"),
        (Done(result={"cake": float("nan")}), "agent_failed"),
    ],
)
def test_without_keys_a_step_whose_service_cannot_be_asked_waits_for_an_operator(
    finding: Any, code: str
) -> None:
    """A refused inquiry is not a refused step: its outcome stays unknown. It is not asked about again meanwhile."""
    agent = askable(findings=[finding])
    answer, _ = run(agent, **REPEAT, **KEYLESS)
    assert (answer.outcome, json.loads(answer.body)["code"], agent.requests) == ("failed", code, [])
    assert len(agent.inquiries) == 1


@pytest.mark.pattern("F14")
def test_an_agent_without_inquire_never_repeats_what_its_service_does_not_recognise() -> None:
    agent = ScriptedAgent("kitchen", LOST, {"cake": 2})
    answer, _ = run(agent, **KEYLESS)
    assert (answer.outcome, json.loads(answer.body)["code"], len(agent.requests)) == (
        "failed",
        "cannot_ask",
        1,
    )


# --- an answer that leaves the outcome open


@pytest.mark.parametrize("fields", [{}, KEYLESS])
def test_an_unclear_answer_is_cleared_up_by_asking(fields: dict[str, Any]) -> None:
    agent = askable(Unresolved("http_501", "what?"), findings=[DONE])
    answer, _ = run(agent, **fields)
    assert (answer.outcome, json.loads(answer.body)) == ("done", {"cake": 1})


@pytest.mark.parametrize("finding", [NotDone(), BAKING, LOST])
def test_an_unclear_answer_stays_unclear_if_asking_does_not_help(finding: Any) -> None:
    agent = askable(Unresolved("http_501", "what?"), findings=[finding])
    answer, _ = run(agent, **KEYLESS)
    assert (answer.outcome, json.loads(answer.body)["code"], len(agent.requests)) == ("failed", "http_501", 1)


def test_an_inquiry_is_bounded_in_time_like_a_call() -> None:
    agent = askable({"cake": 2}, findings=[hang], call_timeout=0.05)
    answer, call = run(agent, **REPEAT)
    assert answer.body == '{"cake": 2}'
    assert "no_answer" in findings(call)[0]["reason"]


def test_a_reason_is_stored_bounded_and_clean() -> None:
    agent = askable(findings=[Unknown(reason="\x00" + "x" * 10_000), DONE])
    _, call = run(agent, **REPEAT, **KEYLESS)
    assert [kind for kind, _ in call.notes] == ["inquired", "call_failed", "inquired"]
    for _, detail in call.notes:
        assert len(json.dumps(detail)) <= 2_200
        assert "\x00" not in str(detail)


def test_a_large_result_is_kept_with_the_step_only() -> None:
    agent = askable(findings=[Done(result={"cake": "x" * 10_000})])
    answer, call = run(agent, **REPEAT)
    assert len(answer.body) > 10_000
    assert findings(call) == [{"try": 1, "finding": "done"}]
