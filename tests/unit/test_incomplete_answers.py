"""An agent's answer that lacks what the step's result must hold: the effect may have happened, and nothing is stored as
done that later steps could not use."""

import json
from typing import Any

import pytest

from orders.engine.agent_host.storable import LONGEST_MESSAGE
from orders.engine.channels.leases import Answer
from orders.engine.contracts import Done, Pending
from tests.support.agents import ScriptedAgent
from tests.unit.test_inquiries import KEYLESS, REPEAT, askable, run

pytestmark = pytest.mark.pattern("C6", "A6")

BODY = {"data": {}, "results": {}, "result_fields": {"cake": "text", "grams": "number"}}
WHOLE = {"cake": "walnut", "grams": 900}
INCOMPLETE = {
    "code": "incomplete_result",
    "message": "the answer of kitchen is incomplete: cake is missing, grams must be a number",
}


def ask(agent: ScriptedAgent, **fields: Any) -> tuple[Answer, list[dict[str, Any]]]:
    """The answer of a call whose step says what its result must hold, and its notes for the history."""
    answer, call = run(agent, body=BODY, **fields)
    return answer, [detail for _, detail in call.notes]


def test_an_answer_that_holds_every_field_is_the_result() -> None:
    answer, notes = ask(ScriptedAgent("kitchen", WHOLE | {"more": True}))
    assert (answer.outcome, json.loads(answer.body), notes) == ("done", WHOLE | {"more": True}, [])


@pytest.mark.parametrize(
    "result", [{"grams": "900"}, {"cake": None, "grams": True}, {"cake": " ", "grams": {}}]
)
def test_an_incomplete_answer_is_of_unknown_outcome_and_is_not_asked_for_again(result: Any) -> None:
    agent = ScriptedAgent("kitchen", result)
    answer, _ = ask(agent)
    error = json.loads(answer.body)
    assert (answer.outcome, error["code"], len(agent.requests)) == ("failed", "incomplete_result", 1)
    assert "grams must be a number" in error["message"]


def test_the_history_keeps_what_was_answered() -> None:
    answer, notes = ask(ScriptedAgent("kitchen", {"grams": "much", "oven": 2}))
    assert json.loads(answer.body) == INCOMPLETE
    (note,) = notes
    assert note.pop("seconds") < 5
    assert note == INCOMPLETE | {"try": 1, "answer": {"grams": "much", "oven": 2}}
    _, (long,) = ask(ScriptedAgent("kitchen", {"oven": "x" * LONGEST_MESSAGE}))
    assert "answer" not in long


def test_an_answer_that_is_no_object_holds_nothing() -> None:
    answer, _ = ask(ScriptedAgent("kitchen", ["cake", "grams"]))
    assert json.loads(answer.body)["code"] == "incomplete_result"


def test_an_answer_that_comes_later_is_not_asked_for_its_fields_yet() -> None:
    answer, _ = ask(ScriptedAgent("kitchen", Pending(within=60.0)))
    assert answer.outcome == "pending"


@pytest.mark.pattern("A7")
def test_a_service_that_can_be_asked_completes_its_answer() -> None:
    agent = askable({"grams": 900}, findings=[Done(result=WHOLE)])
    answer, _ = ask(agent)
    assert (answer.outcome, json.loads(answer.body)) == ("done", WHOLE)
    assert (len(agent.requests), len(agent.inquiries)) == (1, 1)


@pytest.mark.pattern("A7")
def test_a_service_whose_findings_are_incomplete_is_called_again_only_if_it_knows_the_key() -> None:
    incomplete = [Done(result={"grams": 900})]
    safe = askable(WHOLE, findings=incomplete)
    answer, notes = ask(safe, **REPEAT)
    assert (answer.outcome, len(safe.requests)) == ("done", 1)
    assert notes[0]["reason"].startswith("the inquiry failed: incomplete_result: ")
    keyless = askable(WHOLE, findings=incomplete)
    answer, _ = ask(keyless, **REPEAT | KEYLESS)
    assert (answer.outcome, json.loads(answer.body)["code"]) == ("failed", "incomplete_result")
    assert keyless.requests == []
