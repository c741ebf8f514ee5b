"""A failure that only one order meets is that order's own, and the others go on (rule 9)."""

import pytest

from orders.engine.circuits.rules import BreakerRules, Tally
from orders.engine.circuits.store import register_agents, report_calls
from orders.engine.runtime.sql import run
from orders.models import AgentRequest, Alert, Circuit, Event, OrderProcess
from tests.support.factories import ago, make_order, make_reply, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    drain,
    expire,
    states,
    stored,
)

pytestmark = pytest.mark.django_db
NO_PROBE_BY_ITSELF = BreakerRules(first_probe=600.0, probe_cap=600.0)
"""No probe comes due unless a test says so, however slow the machine is."""
ITS_FAULT = {"code": "http_500", "message": "it cannot read this order"}


def failed(order: OrderProcess, tries: int = 5) -> None:
    """All tries of the order's present attempt have failed, as its host reports them, and it is handed back."""
    step = step_of(order, "mix")
    AgentRequest.objects.filter(step_id=step.pk).delete()
    tally = Tally(
        tries, tries, tries - 1, "http_500", "it cannot read this order", frozenset([str(order.pk)])
    )
    report_calls({"kitchen": tally}, rules=NO_PROBE_BY_ITSELF)
    make_reply(step, "deferred", ITS_FAULT, calls=tries)


def another_order_succeeds() -> None:
    """As a probe if the circuit is open, or else as any call."""
    probe = "done" if Circuit.objects.filter(state="half_open").exists() else ""
    report_calls({"kitchen": Tally(calls=1, probe=probe)}, rules=BreakerRules())


def a_circuit(**fields: object) -> None:
    register_agents({"kitchen": None})
    Circuit.objects.filter(agent="kitchen").update(**fields)


def probe_due() -> None:
    run("UPDATE orders_circuit SET probe_at = clock_timestamp() WHERE probe_at IS NOT NULL")


def last_deferral(order: OrderProcess) -> dict[str, object]:
    last = Event.objects.filter(order_id=order.pk, kind="step_deferred").order_by("-id").first()
    assert last is not None
    return dict(last.detail)


@pytest.mark.pattern("A8", "V2", "V3")
def test_an_order_that_keeps_failing_while_others_succeed_ends_in_error_with_its_own_alert() -> None:
    order = make_order({"heat-oven": "completed"})
    a_circuit()
    scheduler, leader = a_scheduler(), a_leader()
    drain(scheduler)
    failed(order)
    drain(scheduler)
    assert Circuit.objects.get().state == "open", "nothing has succeeded here yet"
    assert step_of(order, "mix").failure_count == 0
    for failures in (1, 2, 3):
        probe_due()
        drain(scheduler)
        assert states(order)["mix"] == "running", "it is the probe"
        another_order_succeeds()
        failed(order)
        drain(scheduler)
        assert last_deferral(order)["counts"] is True
        leader.run_once()
        assert step_of(order, "mix").failure_count == failures
        if failures == 3:
            break
        all_due(order)
        drain(scheduler)
        if states(order).get("mix") == "running":  # it waits again from here
            failed(order)
            drain(scheduler)
    assert stored(order).process_state == "error"
    assert alerts_of(order)[0][:2] == ("step_failed", "mix")


@pytest.mark.pattern("A8", "V2")
def test_a_deferral_counts_as_nothing_while_no_other_order_succeeds() -> None:
    order = make_order({"heat-oven": "completed"})
    a_circuit(succeeded_at=ago(3_600))
    scheduler, leader = a_scheduler(), a_leader()
    for _ in range(5):
        drain(scheduler)
        failed(order)
        drain(scheduler)
        leader.run_once()
        probe_due()
    assert step_of(order, "mix").failure_count == 0
    assert Alert.objects.get().kind == "outage"


@pytest.mark.pattern("A8")
def test_a_deferral_of_a_call_that_was_never_made_counts_as_nothing() -> None:
    order = make_order({"heat-oven": "completed"})
    a_circuit()
    scheduler = a_scheduler()
    drain(scheduler)
    failed(order)
    drain(scheduler)
    probe_due()
    drain(scheduler)
    another_order_succeeds()
    step = step_of(order, "mix")
    AgentRequest.objects.filter(step_id=step.pk).delete()
    make_reply(step, "deferred", {"code": "not_called", "message": "the circuit is open"}, calls=0)
    drain(scheduler)
    a_leader().run_once()
    assert step_of(order, "mix").failure_count == 0


@pytest.mark.pattern("A8", "V2")
def test_a_step_that_was_waited_for_in_vain_during_an_outage_still_counts_as_nothing() -> None:
    """It was not handed back: it expired while its circuit was open."""
    order = make_order({"heat-oven": "completed"})
    a_circuit()
    scheduler = a_scheduler()
    drain(scheduler)
    report_calls({"kitchen": Tally(9, 9, 0, "down", "down", frozenset("abc"))}, rules=BreakerRules())
    expire(order)
    a_leader().run_once()
    assert step_of(order, "mix").failure_count == 0


@pytest.mark.pattern("A8")
def test_an_order_that_fails_alone_does_not_hold_up_the_others() -> None:
    bad, good = make_order({"heat-oven": "completed"}), make_order({"heat-oven": "completed"})
    a_circuit()
    scheduler = a_scheduler()
    drain(scheduler)
    answer(order=good, only=["mix"])
    another_order_succeeds()
    for _ in range(4):
        tally = Tally(5, 5, 4, "http_500", "no", frozenset([str(bad.pk)]))
        report_calls({"kitchen": tally}, rules=BreakerRules())
    assert Circuit.objects.get().state == "closed"
    later = make_order({"heat-oven": "completed"})
    drain(scheduler)
    assert (states(good)["bake"], states(later)["mix"]) == ("running", "running")


@pytest.mark.pattern("A8", "V2")
def test_a_failure_that_is_read_after_the_supervisor_has_made_its_step_wait_counts_as_nothing() -> None:
    """The reply came in time, but the supervisor was quicker than the schedulers. The step is tried again."""
    waiting = {"attempt": 1, "outcome": "unknown", "wanted_since": ago(60), "sent_at": ago(50)}
    order = make_order({"heat-oven": "completed", "mix": {"state": "not_started", **waiting}})
    a_circuit(succeeded_at=ago(1))
    make_reply(step_of(order, "mix"), "deferred", ITS_FAULT, calls=5)
    assert "failed_passes" not in a_scheduler().run_once().done
    step = step_of(order, "mix")
    assert (step.state, step.attempt, step.failure_count) == ("running", 2, 0)
    assert "counts" not in last_deferral(order)
