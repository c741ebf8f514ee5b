"""The scheduler, pass by pass: what it claims, which steps it starts, and what it requests from agents (C1–C6)."""

from datetime import timedelta
from typing import Any

import pytest

from orders.models import (
    AgentRequest,
    Event,
    StepState,
)
from tests.support.factories import ago, ahead, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_scheduler,
    answer,
    event_of,
    everything,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.workflows import BAKED, CAKE, PACKED

pytestmark = pytest.mark.django_db


# --- the claim


@pytest.mark.pattern("C2", "T2")
def test_a_claim_writes_locked_by_complete_by_and_processing() -> None:
    order = make_order()
    before = ahead(600)
    counts = a_scheduler("scheduler:a").run_once()
    row = stored(order)
    assert counts.done == {"orders": 1, "replies": 0, "started": 2, "recalled": 0}
    assert (row.locked_by, row.process_state, row.failure_count) == ("scheduler:a", "processing", 0)
    assert row.complete_by is not None and before <= row.complete_by <= ahead(600)
    assert row.started_at is not None and row.started_at <= ahead(0)
    assert event_of(order, "claimed").actor_name == "scheduler:a"


@pytest.mark.pattern("C2")
@pytest.mark.parametrize(
    "process",
    [
        {"process_state": "pending", "not_before_in": 30},
        {"process_state": "processing"},
        {"process_state": "processing", "not_before_in": 30},
        {"process_state": "processed"},
        {"process_state": "error"},
        {"process_state": "error", "goal": "compensate"},
        {"process_state": "compensated", "goal": "compensate"},
    ],
    ids=lambda process: "-".join(str(value) for value in process.values()),
)
def test_an_order_that_is_not_free_or_not_due_is_not_claimed(process: dict[str, Any]) -> None:
    fields = dict(process)
    wait = fields.pop("not_before_in", None)
    order = make_order(not_before=ahead(wait) if wait else None, **fields)
    before = everything(order)
    assert a_scheduler().run_once().done["orders"] == 0
    assert everything(order) == before
    assert history(order) == []
    assert not AgentRequest.objects.exists()


@pytest.mark.pattern("C2")
def test_orders_are_claimed_by_priority_and_then_by_age() -> None:
    low, high, later = make_order(priority=1), make_order(priority=9), make_order(priority=9)
    scheduler = a_scheduler(batch=1)
    for expected in (high, later, low):
        scheduler.run_once()
        assert event_of(expected, "claimed").actor_name == "scheduler:a"
    assert Event.objects.filter(kind="claimed").count() == 3


@pytest.mark.pattern("C2")
def test_an_order_whose_wait_is_over_is_claimed_again_with_a_new_complete_by() -> None:
    order = make_order(
        {"mix": {"state": "not_started", "attempt": 1, "not_before": ago(1), "outcome": "unknown"}},
        not_before=ago(1),
        complete_by=ago(1),
        started_at=ago(60),
    )
    a_scheduler("scheduler:b").run_once()
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("processing", "scheduler:b", None)
    assert row.complete_by is not None and row.complete_by > ahead(590)
    assert (step_of(order, "mix").state, step_of(order, "mix").attempt) == ("running", 2)


# --- the order of the steps


@pytest.mark.pattern("C1", "C4", "C6")
def test_steps_run_in_the_order_of_the_workflow_and_independent_steps_run_together() -> None:
    order = make_order(reply_to="app-1")
    scheduler = a_scheduler()
    waves = []
    scheduler.run_once()
    while wave := answer(order=order):
        waves.append(wave)
        scheduler.run_once()
    assert waves == [{"mix", "heat-oven"}, {"bake"}, {"decorate", "box"}, {"deliver"}, {"tell"}]
    assert stored(order).process_state == "processed"
    assert states(order) == {step.name: "completed" for step in CAKE.steps}
    assert set(StepState.objects.values_list("attempt", "answered", "outcome")) == {(1, 1, "done")}


@pytest.mark.pattern("C1", "C4")
@pytest.mark.parametrize(
    ("join", "before", "branches"),
    [
        ("bake", {}, ("mix", "heat-oven")),
        ("bake", {}, ("heat-oven", "mix")),
        ("deliver", BAKED, ("decorate", "box")),
        ("deliver", BAKED, ("box", "decorate")),
    ],
)
def test_a_join_waits_for_the_last_of_its_branches(
    join: str, before: dict[str, str], branches: tuple[str, str]
) -> None:
    first, last = branches
    order = make_order({**before, first: "running", last: "running"}, process_state="processing")
    scheduler = a_scheduler()
    make_reply(step_of(order, first))
    scheduler.run_once()
    assert (states(order)[first], states(order)[last], requested_steps()) == ("completed", "running", set())
    make_reply(step_of(order, last))
    scheduler.run_once()
    assert (states(order)[last], states(order)[join], requested_steps()) == ("completed", "running", {join})


@pytest.mark.pattern("C1", "T4")
def test_each_change_of_a_step_is_recorded_with_the_steps_own_complete_by() -> None:
    order = make_order()
    scheduler = a_scheduler()
    since = ahead(30)
    scheduler.run_once()
    mix, bake = step_of(order, "mix"), step_of(order, "bake")
    assert (mix.state, mix.attempt, mix.outcome) == ("running", 1, "unknown")
    assert mix.complete_by is not None and since <= mix.complete_by <= ahead(30)
    assert mix.settles_at == mix.complete_by + timedelta(seconds=5)
    assert mix.started_at is not None and mix.completed_at is None
    assert (bake.state, bake.complete_by, bake.started_at) == ("not_started", None, None)
    answer(order=order)
    scheduler.run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.complete_by, mix.answered, mix.outcome) == ("completed", None, 1, "done")
    assert mix.completed_at is not None
    assert history(order) == [
        ("claimed", ""),
        ("step_started", "mix"),
        ("step_started", "heat-oven"),
        ("step_completed", "mix"),
        ("step_completed", "heat-oven"),
        ("step_started", "bake"),
    ]


@pytest.mark.pattern("C1")
def test_a_skipped_step_counts_as_finished() -> None:
    order = make_order({"mix": "skipped", "heat-oven": "running"}, process_state="processing")
    make_reply(step_of(order, "heat-oven"))
    a_scheduler().run_once()
    assert states(order) == {"mix": "skipped", "heat-oven": "completed", "bake": "running"}


# --- the request


@pytest.mark.pattern("C5", "A3", "T5")
def test_a_request_carries_data_the_results_it_needs_its_complete_by_and_its_key() -> None:
    packed = {**PACKED, "bake": {"state": "completed", "result": {"crust": "golden"}}}
    packed["box"] = {"state": "running", "request": {"portions": 4}}
    order = make_order(
        {**packed, "deliver": {"request": {"portions": 4}}}, process_state="processing", priority=8
    )
    make_reply(step_of(order, "box"), body={"ribbon": "red"})
    a_scheduler().run_once()
    deliver = step_of(order, "deliver")
    request = AgentRequest.objects.get()
    assert (request.order_id, request.step_id, request.step) == (order.order_id, deliver.pk, "deliver")
    assert (request.agent, request.operation) == ("courier", "deliver-it")
    assert request.body == {
        "data": {"portions": 4},
        "results": {"bake": {"crust": "golden"}, "box": {"ribbon": "red"}},
    }
    assert (request.attempt, request.compensates, request.reverses) == (1, False, "")
    assert request.key == f"{order.order_id}/deliver/1"
    assert request.complete_by == deliver.complete_by
    assert (request.priority, request.deliveries, request.leased_by) == (8, 0, None)
    assert step_of(order, "box").result == {"ribbon": "red"}


@pytest.mark.pattern("C5", "A3")
def test_a_retry_replaces_the_earlier_request_and_keeps_its_key() -> None:
    order = make_order(
        {"mix": {"attempt": 1, "outcome": "unknown"}, "heat-oven": "completed"}, started_at=ago(60)
    )
    old = make_request(step_of(order, "mix"), complete_by=ago(1))
    a_scheduler().run_once()
    request = AgentRequest.objects.get()
    assert request.pk != old.pk
    assert (request.attempt, request.key, request.deliveries) == (2, old.key, 0)
