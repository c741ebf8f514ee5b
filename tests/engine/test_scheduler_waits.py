"""The scheduler and orders that wait for their customer, or until a step may be tried again (C1, C7)."""

import pytest

from tests.support.factories import ago, ahead, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    history,
    requested_steps,
    states,
    status_kinds,
    stored,
)

pytestmark = pytest.mark.django_db


# --- declined: the customer's turn


@pytest.mark.pattern("C7")
def test_a_declined_step_waits_for_the_customer_without_an_alert() -> None:
    order = make_order(
        {"mix": "running", "heat-oven": "completed"}, process_state="processing", reply_to="app-1"
    )
    since = ahead(60)
    make_reply(step_of(order, "mix"), "declined", {"code": "no_eggs", "message": "bring eggs"})
    a_scheduler().run_once()
    row, mix = stored(order), step_of(order, "mix")
    assert (mix.state, mix.outcome) == ("failed", "refused")
    assert mix.error == {"code": "no_eggs", "message": "bring eggs", "waits_for": "customer"}
    assert mix.not_before is not None and since <= mix.not_before <= ahead(60)
    assert (row.process_state, row.locked_by, row.not_before) == ("pending", None, mix.not_before)
    assert (alerts_of(order), status_kinds(order)) == ([], ["declined"])
    assert history(order) == [("step_declined", "mix"), ("waiting", "")]


@pytest.mark.pattern("C7", "C10")
def test_a_declined_step_that_the_customer_does_not_fix_compensates_the_order_without_an_alert() -> None:
    order = make_order(
        {"mix": "running", "heat-oven": "completed"}, process_state="processing", reply_to="app-1"
    )
    scheduler = a_scheduler()
    make_reply(step_of(order, "mix"), "declined")
    scheduler.run_once()
    all_due(order)
    scheduler.run_once()
    assert (stored(order).goal, requested_steps()) == ("compensate", {"tell"})
    answer(order=order)
    scheduler.run_once()
    assert stored(order).process_state == "compensated"
    assert (alerts_of(order), status_kinds(order)) == ([], ["declined", "compensated"])
    assert history(order, "compensation_requested", "compensation_started", "compensated") == [
        ("compensation_requested", ""),
        ("compensation_started", "tell"),
        ("compensated", ""),
    ]


def test_when_the_customers_time_is_over_a_request_that_nobody_has_begun_is_taken_back() -> None:
    order = make_order(
        {"mix": {"state": "failed", "not_before": ago(1)}, "heat-oven": "running"},
        process_state="processing",
        not_before=ago(1),
    )
    make_request(step_of(order, "heat-oven"))
    a_scheduler().run_once()
    assert stored(order).goal == "compensate"
    assert "heat-oven" not in requested_steps()
    assert "heat-oven" not in states(order)


# --- waiting


@pytest.mark.pattern("C1")
def test_an_order_whose_remaining_steps_all_wait_is_pending_until_the_earliest_wait_ends() -> None:
    soon, later = ahead(20), ahead(50)
    tried = {"attempt": 1, "answered": 1, "outcome": "unknown"}
    order = make_order(
        {"mix": {**tried, "not_before": later}, "heat-oven": {**tried, "not_before": soon}}, started_at=ago(9)
    )
    a_scheduler().run_once()
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("pending", None, soon)
    assert requested_steps() == set()


@pytest.mark.pattern("C1")
def test_an_order_with_a_running_step_stays_locked_and_is_claimable_when_its_wait_is_over() -> None:
    wait = ahead(20)
    order = make_order({"mix": {"attempt": 1, "outcome": "unknown", "not_before": wait}})
    scheduler = a_scheduler()
    scheduler.run_once()
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("processing", "scheduler:a", wait)
    assert requested_steps() == {"heat-oven"}
    assert scheduler.run_once().done["orders"] == 0
    all_due(order)
    scheduler.run_once()
    assert requested_steps() == {"heat-oven", "mix"}
    assert (stored(order).process_state, stored(order).not_before) == ("processing", None)
    assert scheduler.run_once().done["orders"] == 0
