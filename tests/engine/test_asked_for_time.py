"""A remote service that asks for time is given it: the step waits, and no failure is counted (rule 9)."""

from datetime import timedelta

import pytest

from orders.engine.runtime.sql import database_now
from orders.models import AgentReply, AgentRequest, Alert, OrderProcess, StepState
from tests.support.factories import ago, ahead, make_order, make_reply, step_of
from tests.support.requests import many
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    drain,
    event_of,
    expire,
    history,
    requested_steps,
    states,
    stored,
)

pytestmark = pytest.mark.django_db
LATER = {"code": "http_503", "message": "the oven is full", "retry_after": 60.0}


def asked_for_time(order: OrderProcess, name: str = "mix") -> None:
    """The reply to a step's present attempt: its remote service has asked for a minute."""
    step = step_of(order, name)
    AgentRequest.objects.filter(step_id=step.pk).delete()
    make_reply(step, "deferred", LATER, compensates=step.state == "compensating", calls=1)


@pytest.mark.pattern("A8", "V2")
def test_the_step_waits_for_as_long_as_its_remote_service_asks_and_then_goes_on() -> None:
    order = make_order({"heat-oven": "completed"})
    scheduler = a_scheduler()
    drain(scheduler)
    asked_for_time(order)
    drain(scheduler)
    step = step_of(order, "mix")
    assert (step.state, step.failure_count, step.outcome) == ("not_started", 0, "unknown")
    assert step.not_before is not None
    assert timedelta(seconds=55) < step.not_before - database_now() < timedelta(seconds=61)
    waiting = stored(order)
    assert (waiting.process_state, waiting.not_before) == ("pending", step.not_before)
    assert event_of(order, "step_deferred").detail["cause"] == LATER
    all_due(order)
    drain(scheduler)
    assert (states(order)["mix"], step_of(order, "mix").attempt) == ("running", 2)


@pytest.mark.pattern("V3")
def test_however_often_it_asks_no_failure_is_counted_and_no_operator_alerted() -> None:
    order = make_order({"heat-oven": "completed"})
    scheduler, leader = a_scheduler(), a_leader()
    for _ in range(10):
        drain(scheduler)
        asked_for_time(order)
        drain(scheduler)
        leader.run_once()
        all_due(order)
    drain(scheduler)
    step = step_of(order, "mix")
    assert (step.attempt, step.failure_count, stored(order).failure_count) == (11, 0, 0)
    assert len({request.key for request in AgentRequest.objects.all()}) == 1
    assert not Alert.objects.exists()


@pytest.mark.pattern("V3", "V4")
def test_a_remote_service_that_never_stops_asking_ends_with_the_steps_patience() -> None:
    order = make_order({"heat-oven": "completed"})
    scheduler = a_scheduler()
    drain(scheduler)
    asked_for_time(order)
    drain(scheduler)
    StepState.objects.filter(process=order, name="mix").update(wanted_since=ago(90_000))
    all_due(order)
    drain(scheduler)
    assert stored(order).process_state == "error"
    assert alerts_of(order) == [("step_failed", "mix", "agent_unavailable")]


@pytest.mark.pattern("C10")
def test_a_compensation_waits_for_as_long_as_its_remote_service_asks() -> None:
    order = make_order({"mix": "completed"}, goal="compensate")
    scheduler = a_scheduler()
    drain(scheduler)
    assert states(order)["mix"] == "compensating"
    asked_for_time(order)
    drain(scheduler)
    step = step_of(order, "mix")
    assert (step.state, step.complete_by, step.compensation_failure_count) == ("compensating", None, 0)
    assert step.not_before is not None
    assert step.not_before > ahead(50)
    all_due(order)
    drain(scheduler)
    answer(order=order)
    drain(scheduler)
    assert states(order)["mix"] == "compensated"


# --- requests that nobody has claimed


def nearly_expired(seconds: float = 1.95, *, posted: float = 28.0) -> dict[str, object]:
    return {"complete_by": ahead(seconds), "posted_at": ago(posted)}


@pytest.mark.pattern("A9", "V2")
def test_a_request_that_no_host_has_claimed_waits_and_counts_no_failure() -> None:
    order = make_order({"heat-oven": "completed"})
    scheduler = a_scheduler()
    drain(scheduler)
    AgentRequest.objects.update(**nearly_expired())
    StepState.objects.filter(process=order, name="mix").update(complete_by=ahead(1.95))
    scheduler._tidied_at = 0.0
    drain(scheduler)
    step = step_of(order, "mix")
    assert (step.state, step.attempt, step.failure_count) == ("running", 2, 0), "it has been sent again"
    assert ("step_deferred", "mix") in history(order)
    assert event_of(order, "step_deferred").detail["cause"]["code"] == "not_claimed"
    expire(order)
    a_leader().run_once()
    assert step_of(order, "mix").failure_count == 1, "an attempt that was claimed, or has expired, counts"


@pytest.mark.parametrize(
    "request_fields",
    [
        {"deliveries": 1, "leased_by": "agents:a", "leased_until": "ahead"},
        {"deliveries": 1},
        {"complete_by": "later"},
        {"complete_by": "past"},
    ],
    ids=["under way", "claimed before", "with time left", "expired"],
)
def test_no_other_request_is_handed_back(request_fields: dict[str, object]) -> None:
    times = {"ahead": ahead(8), "later": ahead(5), "past": ago(0.5)}
    fields = {name: times.get(str(value), value) for name, value in request_fields.items()}
    many(1, **(nearly_expired() | fields))
    a_scheduler().run_once()
    assert (AgentRequest.objects.count(), AgentReply.objects.exists()) == (1, False)


def test_a_short_attempt_is_handed_back_only_in_its_last_fifth() -> None:
    many(1, **nearly_expired(1.9, posted=0.5))
    a_scheduler().run_once()
    assert AgentRequest.objects.exists()
    assert requested_steps() == {"mix"}
