"""The checker of the invariants goes red when one is broken, each by its own check."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection
from psycopg import IsolationLevel

from orders.engine import alerts
from orders.engine.alerts import NewAlert
from orders.engine.runtime.sql import database_now
from orders.models import Circuit, Event, LeaderLease, OrderProcess
from tests.support import histories, invariants
from tests.support.factories import make_order, make_request, step_of
from tests.support.invariants import FORWARD, Limits
from tests.support.system import database_url
from tests.support.workflows import CAKE

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("T1")]
STEPS = [step.name for step in CAKE.steps]
FIRST = next(step.name for step in CAKE.steps if not step.after)
LATER = next(step for step in CAKE.steps if step.after)


def happened(order: OrderProcess, *events: tuple[Any, ...], actor: str = "scheduler:test") -> None:
    """Writes a history: (kind, step, attempt, detail), of which the last ones may be left out."""
    for event in events:
        kind, step, attempt, detail = (*event, *("", 0, {})[len(event) - 1 :])
        Event.objects.create(
            order_id=order.order_id,
            kind=kind,
            step=step,
            attempt=attempt,
            actor_kind=actor.partition(":")[0],
            actor_name=actor,
            detail=detail,
        )


def ids(*orders: OrderProcess) -> list[UUID]:
    return [order.order_id for order in orders]


def effects(order: OrderProcess, *operations: str) -> dict[str, list[dict[str, Any]]]:
    """The ledgers after these operations."""
    ledgers: dict[str, list[dict[str, Any]]] = {"warehouse": [], "payments": [], "carrier": []}
    for operation in operations:
        key = f"{order.order_id}/{operation}/1"
        ledgers[FORWARD[operation]].append(
            {"key": key, "operation": operation, "order_id": str(order.order_id)}
        )
    return ledgers


def test_i1_reports_an_order_that_is_lost_unfinished_or_foreign() -> None:
    done = make_order(process_state="processed")
    invariants.every_order_ended_once(ids(done))
    with pytest.raises(AssertionError, match="I1: not ended"):
        invariants.every_order_ended_once([done.order_id, UUID(int=7)])
    waiting = make_order()
    with pytest.raises(AssertionError, match="I1: not ended"):
        invariants.every_order_ended_once(ids(done, waiting))
    waiting.delete()
    with pytest.raises(AssertionError, match="I1: nobody ordered"):
        invariants.every_order_ended_once([])


def test_i2_reports_effects_that_are_duplicate_missing_left_over_or_foreign() -> None:
    done = make_order(process_state="processed")
    invariants.net_effects(ids(done), effects(done, *FORWARD))
    doubled = effects(done, *FORWARD)
    doubled["carrier"] *= 2
    compensated = make_order(process_state="compensated", goal="compensate")
    for order, ledgers, message in (
        (done, doubled, "more than once"),
        (done, effects(done, "reserve"), "is Processed with"),
        (compensated, effects(compensated, "reserve"), "is Compensated with"),
        (compensated, effects(done, "reserve"), "unknown orders"),
    ):
        with pytest.raises(AssertionError, match=f"I2: .*{message}"):
            invariants.net_effects(ids(order), ledgers)


def test_i3_reports_a_step_that_ran_before_a_step_it_depends_on() -> None:
    order = make_order()
    happened(order, ("step_started", FIRST, 1))
    histories.predecessors_first(ids(order), CAKE)
    happened(order, ("step_started", LATER.name, 1))
    with pytest.raises(AssertionError, match="I3"):
        histories.predecessors_first(ids(order), CAKE)


@pytest.mark.parametrize(
    "events",
    [
        [("step_started", FIRST, 2)],
        [("step_started", FIRST, 1), ("step_started", FIRST, 2), ("step_completed", FIRST, 1)],
        [("step_started", FIRST, 1), ("step_failed", FIRST, 1), ("step_completed", FIRST, 1)],
    ],
)
def test_i4_reports_an_attempt_out_of_order_or_answered_late_or_twice(events: list[tuple[Any, ...]]) -> None:
    order = make_order()
    happened(order, *events)
    with pytest.raises(AssertionError, match="I4"):
        histories.attempts_only_grow(ids(order))


def test_i5_reports_two_instances_that_make_the_same_transition() -> None:
    order = make_order()
    happened(order, ("step_timed_out", FIRST, 1))
    invariants.one_instance_per_transition(ids(order))
    happened(order, ("step_timed_out", FIRST, 1), actor="scheduler:other")
    with pytest.raises(AssertionError, match="I5"):
        invariants.one_instance_per_transition(ids(order))


def test_i6_reports_a_leader_that_continues_after_its_successor_has_swept() -> None:
    order = make_order()
    LeaderLease.objects.create(name=LeaderLease.SUPERVISOR, term=2)
    for actor in ("supervisor:a", "supervisor:b"):
        happened(order, ("step_timed_out", FIRST, 1), actor=actor)
    invariants.one_supervisor_at_a_time()
    happened(order, ("step_timed_out", FIRST, 2), actor="supervisor:a")
    with pytest.raises(AssertionError, match="I6"):
        invariants.one_supervisor_at_a_time()


def test_i7_reports_anything_that_still_runs_when_nothing_is_left_to_do() -> None:
    invariants.nothing_is_in_flight()
    make_order({FIRST: "running"}, process_state="processing")
    with pytest.raises(AssertionError, match="I7"):
        invariants.nothing_is_in_flight()


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([("step_started", FIRST, 1), ("step_started", FIRST, 2)], "attempt 2, 1 allowed"),
        ([("step_timed_out", FIRST, 1, {"failures": 99})], "99 failures"),
        ([("step_completed", FIRST, 1, {"calls": 101})], "101 calls"),
        (
            [
                ("step_timed_out", FIRST, 1, {"failures": 1}),
                ("step_started", FIRST, 1),
                ("step_timed_out", FIRST, 1, {"failures": 1}),
                ("step_started", FIRST, 2),
                ("step_timed_out", FIRST, 1, {"failures": 1}),
                ("step_started", FIRST, 3),
            ],
            "budget",
        ),
    ],
)
def test_i8_reports_more_attempts_failures_calls_or_retries_than_allowed(
    events: list[tuple[Any, ...]], message: str
) -> None:
    order = make_order()
    happened(order, *events)
    with pytest.raises(AssertionError, match=f"I8: .*{message}"):
        invariants.calls_within_limits(ids(order), CAKE, Limits(retries_per_second=0.9))


def test_i9_reports_an_error_without_an_alert_and_an_alert_without_an_error() -> None:
    order = make_order(process_state="error")
    with pytest.raises(AssertionError, match="I9"):
        invariants.every_error_has_one_alert()
    alerts.open_alerts([NewAlert(order.order_id, "step_failed", "no", "no", FIRST, "oven")])
    alerts.open_outage("oven", code="down", message="it does not answer")
    invariants.every_error_has_one_alert()
    OrderProcess.objects.update(process_state="pending")
    with pytest.raises(AssertionError, match="I9"):
        invariants.every_error_has_one_alert()


def test_i9_reports_an_outage_whose_alert_stays_open_too_long_or_is_missing() -> None:
    circuit = Circuit.objects.create(agent="oven")
    invariants.outages_are_reported_while_they_last()
    alerts.open_outage("oven", code="down", message="it does not answer")
    with pytest.raises(AssertionError, match="I9: an open alert for an outage that is over"):
        invariants.outages_are_reported_while_they_last()
    circuit.state, circuit.probe_at = "open", database_now()
    circuit.save()
    invariants.outages_are_reported_while_they_last()
    alerts.close_outage("oven", by="test", resolution="")
    with pytest.raises(AssertionError, match="I9: an outage without an alert"):
        invariants.outages_are_reported_while_they_last()


def test_i10_reports_a_step_compensated_before_a_step_that_came_after_it() -> None:
    order = make_order()
    before = LATER.after[0]
    happened(order, ("step_completed", before, 1), ("step_completed", LATER.name, 1))
    histories.compensated_in_reverse(ids(order), CAKE)
    happened(order, ("compensation_started", before, 2))
    with pytest.raises(AssertionError, match="I10"):
        histories.compensated_in_reverse(ids(order), CAKE)


def test_i11_reports_an_order_that_took_too_long() -> None:
    order = make_order(process_state="processed")
    with pytest.raises(AssertionError, match="I11"):
        invariants.ended_in_time(ids(order), Limits(calm_since=database_now()))
    happened(order, ("processed",))
    invariants.ended_in_time(ids(order), Limits(calm_since=database_now()))
    OrderProcess.objects.update(created_at=database_now() - timedelta(hours=1))
    calm = database_now() - timedelta(minutes=30)
    with pytest.raises(AssertionError, match="I11"):
        invariants.ended_in_time(ids(order), Limits(calm_since=calm))


@pytest.mark.parametrize(
    "stored", [{"process_state": "error"}, {"goal": "compensate", "process_state": "pending"}, {}]
)
def test_i12_reports_a_state_that_no_history_led_to(stored: dict[str, Any]) -> None:
    order = make_order({FIRST: "completed"}, **stored)
    happened(order, ("claimed",), ("step_started", FIRST, 1))
    with pytest.raises(AssertionError, match="I12"):
        invariants.events_give_the_state(ids(order))


def test_i12_accepts_a_state_that_its_history_led_to() -> None:
    order = make_order({FIRST: "completed"}, process_state="error")
    happened(order, ("claimed",), ("step_started", FIRST, 1), ("step_completed", FIRST, 1), ("error",))
    invariants.events_give_the_state(ids(order))


def test_i13_reports_a_message_that_nobody_takes() -> None:
    order = make_order({FIRST: "running"}, process_state="processing")
    invariants.channels_are_empty()
    make_request(step_of(order, FIRST))
    with pytest.raises(AssertionError, match="I13: messages left"):
        invariants.channels_are_empty()


@pytest.mark.django_db(transaction=True)
def test_i13_reports_dead_rows_and_an_old_snapshot() -> None:
    make_order()
    invariants.nothing_piles_up(Limits())
    with psycopg.connect(database_url()) as other:
        other.isolation_level = IsolationLevel.REPEATABLE_READ
        other.execute("SELECT count(*) FROM orders_orderprocess")
        with pytest.raises(AssertionError, match="I13: old snapshots"):
            invariants.nothing_piles_up(Limits(snapshot=0))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM orders_stepstate")
        cursor.execute("SELECT pg_stat_force_next_flush()")
    with pytest.raises(AssertionError, match="I13: dead rows"):
        invariants.nothing_piles_up(Limits(dead_rows=0))
