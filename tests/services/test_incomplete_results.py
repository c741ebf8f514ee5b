"""Where answers come from people and from outside, a result that lacks what its step declares is refused, and nothing
is lost: the step waits on, and the right answer is taken."""

from collections.abc import Iterator
from typing import Any

import pytest

from orders.engine.callbacks import issue_token
from orders.models import AgentReply, AgentRequest, Alert, AuditEntry, StepState
from orders.services.act_results import ResultStatus
from orders.services.answers import IncompleteResultError, answer_callback, answer_event
from orders.services.audit import Actor
from orders.services.operators.order_acts import resubmit
from orders.services.operators.settling import settle_done
from orders.services.signalling import signal
from orders.testing import run_to_end
from tests.support.agents import ScriptedAgent
from tests.support.businesses import Oven, business
from tests.support.factories import make_purchase, step_of
from tests.support.roles import a_host, a_scheduler, drain, event_of, stored
from tests.support.weighed_cakes import (
    WEIGHED,
    WHOLE,
    WeighedCakes,
    baked_cake,
    cake,
    doubtful_cake,
    parked_cake,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("C6")]

OLGA = Actor(name="olga")
ERROR = {
    "code": "incomplete_result",
    "message": "the answer of oven is incomplete: grams must be a number, layers is missing",
}


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The bakery, beside the shop."""
    with business(settings, kinds=[WeighedCakes], agents=[Oven()]):
        yield


def pass_over() -> None:
    drain(a_scheduler(workflows=WEIGHED))


# --- agents


@pytest.mark.pattern("C5", "C7", "F15")
def test_an_agents_incomplete_answer_stops_the_order_before_the_steps_that_rely_on_it() -> None:
    order = cake({"mix": {"request": {"cake": "walnut"}}})
    pass_over()
    assert AgentRequest.objects.get().body["result_fields"] == {
        "tin": "text",
        "grams": "number",
        "layers": "json",
    }
    a_host(ScriptedAgent("oven", {"tin": "T7", "grams": "900"})).run_once()
    pass_over()
    mix = step_of(order, "mix")
    assert (mix.state, mix.outcome, mix.error, mix.result) == ("failed", "unknown", ERROR, None)
    assert (stored(order).process_state, Alert.objects.get().code) == ("error", "incomplete_result")
    assert event_of(order, "call_failed").detail["answer"] == {"tin": "T7", "grams": "900"}


@pytest.mark.pattern("O2", "A3")
def test_an_order_goes_on_once_its_agent_has_been_fixed() -> None:
    """The service recognises the key, and does nothing twice."""
    order = doubtful_cake(error=ERROR)
    key = f"{order.pk}/mix/1"
    resubmit(order_id=order.pk, actor=OLGA)
    pass_over()
    agent = ScriptedAgent("oven", WHOLE)
    a_host(agent).run_once()
    pass_over()
    assert [request.key for request in agent.requests] == [key]
    assert (step_of(order, "mix").result, step_of(order, "weigh").state) == (WHOLE, "awaiting")


@pytest.mark.pattern("C10")
def test_what_a_compensation_answers_needs_to_hold_nothing() -> None:
    order = cake({"mix": {"state": "completed", "outcome": "done"}}, goal="compensate")
    pass_over()
    assert "result_fields" not in AgentRequest.objects.get().body
    a_host(ScriptedAgent("oven", {})).run_once()
    pass_over()
    assert stored(order).process_state == "compensated"


def test_what_was_stored_before_it_was_declared_is_not_asked_for_it() -> None:
    order = cake({"mix": {"state": "completed", "result": {"old": True}}})
    pass_over()
    assert step_of(order, "weigh").state == "awaiting"


# --- what is answered later, and what happens outside


def test_a_callback_that_lacks_a_field_is_refused_and_its_token_still_good() -> None:
    order = parked_cake()
    token = issue_token(f"{order.pk}/mix/1")
    with pytest.raises(IncompleteResultError) as refused:
        answer_callback(token=token, result={"tin": "T7", "grams": True})
    assert str(refused.value) == "The result is incomplete: grams must be a number, layers is missing."
    assert refused.value.gaps == {"grams": "must be a number", "layers": "is missing"}
    assert not AgentReply.objects.exists()
    answer_callback(token=token, result=WHOLE)
    pass_over()
    assert step_of(order, "mix").result == WHOLE


@pytest.mark.pattern("C7")
def test_a_callback_that_refuses_needs_to_hold_nothing() -> None:
    order = parked_cake()
    answer_callback(token=issue_token(f"{order.pk}/mix/1"), error=("no_eggs", ""))
    pass_over()
    assert step_of(order, "mix").outcome == "refused"


@pytest.mark.pattern("C10")
def test_a_callback_about_a_compensation_needs_to_hold_nothing() -> None:
    order = parked_cake(goal="compensate")
    StepState.objects.filter(process_id=order.pk).update(compensation_sent_at=order.created_at)
    answer_callback(token=issue_token(f"{order.pk}/mix/1/undo"), result={})
    pass_over()
    assert step_of(order, "mix").state == "compensated"


def test_an_event_that_lacks_a_field_is_refused_and_can_be_reported_again() -> None:
    order = baked_cake()
    with pytest.raises(IncompleteResultError, match=r"^The result is incomplete: grams is missing\.$"):
        answer_event(order_id=order.pk, step="weigh", result={}, by="ada")
    assert not AgentReply.objects.exists()
    answer_event(order_id=order.pk, step="weigh", result={"grams": 900}, by="ada")
    pass_over()
    assert stored(order).process_state == "processed"


def test_a_signal_that_lacks_a_field_is_refused_and_recorded_nowhere() -> None:
    order = baked_cake()
    make_purchase(order.pk, subject="table 7")
    with pytest.raises(IncompleteResultError, match="grams must be a number"):
        signal("table 7", "weigh", {"grams": "much"}, by="till")
    assert not AgentReply.objects.exists() and not AuditEntry.objects.exists()
    assert signal("table 7", "weigh", {"grams": 900}, by="till") == order.pk


# --- operators


@pytest.mark.pattern("O2", "F14")
@pytest.mark.parametrize("order_of", [doubtful_cake, parked_cake])
def test_a_step_is_not_settled_with_a_result_that_lacks_a_field(order_of: Any) -> None:
    order = order_of()
    how: dict[str, Any] = {"order_id": order.pk, "step": "mix", "actor": OLGA, "reason": "I looked"}
    refused = settle_done(result={"tin": " ", "grams": 900, "layers": []}, **how)
    assert (refused.status, refused.message) == (
        ResultStatus.REFUSED,
        "The result is incomplete: tin must be a text that is not empty.",
    )
    assert step_of(order, "mix").outcome == "unknown"
    assert settle_done(result=WHOLE, **how).status is ResultStatus.DONE
    pass_over()
    assert (step_of(order, "mix").result, step_of(order, "weigh").state) == (WHOLE, "awaiting")


# --- the kit for tests


def test_what_a_test_answers_must_hold_the_fields_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def whole(*_: object) -> dict[str, Any]:
        return WHOLE

    monkeypatch.setattr(Oven, "perform", whole)
    with pytest.raises(IncompleteResultError, match="grams is missing"):
        run_to_end(WeighedCakes.start("table 7", {"cake": "walnut"}), answers={"weigh": {}})
    ended = run_to_end(WeighedCakes.start("table 8", {"cake": "plum"}), answers={"weigh": {"grams": 1.5}})
    assert (ended.state, ended.steps["weigh"].result) == ("processed", {"grams": 1.5})
