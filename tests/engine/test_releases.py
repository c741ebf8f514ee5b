"""A bad release, or a database that lacks something, stops the roles and harms no order (rules 10 and 11)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

import pytest
from django.db import connection

from orders.business.intake import OrderIntake
from orders.engine.admission import Admission
from orders.engine.contracts import Compensation, Workflow, Workflows
from orders.engine.scheduler.role import Scheduler
from orders.engine.submission import Submitter
from orders.models import Alert, OrderProcess, SetAside, StepState, SubmissionMessage
from orders.shop.models import Product
from tests.support.factories import make_order
from tests.support.overdue import overdue, processing
from tests.support.roles import (
    a_leader,
    a_scheduler,
    answer_everything,
    clones,
    drain,
    everything,
    states,
    stored,
)
from tests.support.submissions import a_role, post
from tests.support.wait import until
from tests.support.workflows import CAKE

pytestmark = pytest.mark.django_db
NUMBER = 200


def with_another_step(workflow: Workflow) -> Workflow:
    """The same version with one more step: what a developer must not do."""
    return replace(workflow, steps=(*workflow.steps, replace(workflow.steps[0], name="candle")))


def versions(*workflows: Workflow) -> Workflows:
    return {(workflow.name, workflow.version): workflow for workflow in workflows}


def orders_under_way(number: int, *, fingerprint: str = "") -> list[UUID]:
    """Orders whose first steps are dispatched."""
    order = make_order(fingerprint=fingerprint)
    ids = [order.pk, *clones(order, number - 1)]
    assert drain(a_scheduler())["started"] == 2 * number
    return ids


@contextmanager
def renamed(table: str, column: str) -> Iterator[None]:
    """Renames a column while roles run, as a migration of another release would."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO moved")
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME COLUMN moved TO {column}")


def try_for_a_while(role: Scheduler | Submitter, *, passes: int = 60) -> None:
    for _ in range(passes):
        role.run_once()
        role.health.beat()


def alerts_after_a_pass(role: Scheduler) -> list[tuple[str, str, str]]:
    try_for_a_while(role, passes=1)
    return open_alerts()


def nothing_is_in_error() -> bool:
    return not OrderProcess.objects.filter(process_state="error").exists() and not SetAside.objects.exists()


def open_alerts() -> list[tuple[str, str, str]]:
    alerts = Alert.objects.filter(closed_at__isnull=True).order_by("id")
    return list(alerts.values_list("kind", "subject", "code"))


# --- a workflow that was changed in place


@pytest.mark.pattern("C4")
def test_orders_wait_when_their_version_has_one_more_step_and_go_on_when_it_has_not() -> None:
    ids = orders_under_way(NUMBER, fingerprint=CAKE.fingerprint)
    answer_everything()
    before = everything(ids[0])
    broken = a_scheduler("scheduler:new", workflows=versions(with_another_step(CAKE)))
    try_for_a_while(broken, passes=5)
    assert everything(ids[0]) == before
    assert nothing_is_in_error()
    assert open_alerts() == [("release", "bake-cake v3", "workflow_changed")]
    assert "step candle is new" in Alert.objects.get().message
    sound = a_scheduler("scheduler:old")
    drain(sound)
    assert set(StepState.objects.filter(name="bake").values_list("state", flat=True)) == {"running"}
    broken.health.forget()
    sound.health.beat()
    assert open_alerts() == []


@pytest.mark.pattern("C4")
@pytest.mark.parametrize(
    ("step", "change", "words"),
    [
        ("bake", {"after": ("mix",)}, "after of step bake is mix instead of heat-oven, mix"),
        ("mix", {"compensation": Compensation.NONE}, "compensation of step mix is none instead of reverse"),
        ("box", {"agent": "courier"}, "agent of step box is courier instead of kitchen"),
    ],
)
def test_a_change_that_the_steps_do_not_show_is_refused_too(
    step: str, change: dict[str, object], words: str
) -> None:
    order = make_order({"mix": "completed"}, fingerprint=CAKE.fingerprint)
    a_scheduler().run_once()
    before = everything(order)
    steps = tuple(replace(each, **change) if each.name == step else each for each in CAKE.steps)  # type: ignore[arg-type]
    broken = a_scheduler("scheduler:new", workflows=versions(replace(CAKE, steps=steps)))
    try_for_a_while(broken, passes=3)
    assert everything(order) == before
    assert words in Alert.objects.get().message


def test_a_change_of_time_limits_is_no_other_workflow() -> None:
    order = make_order(fingerprint=CAKE.fingerprint)
    steps = tuple(replace(step, complete_by=5.0, patience=60.0) for step in CAKE.steps)
    quicker = a_scheduler(workflows=versions(replace(CAKE, steps=steps, complete_by=60.0)))
    quicker.run_once()
    assert states(order) == {"mix": "running", "heat-oven": "running"}


def test_a_version_may_change_while_no_unfinished_order_is_on_it() -> None:
    make_order(process_state="processed", fingerprint=CAKE.fingerprint)
    changed = with_another_step(CAKE)
    order = make_order(workflow=changed, fingerprint=changed.fingerprint)
    scheduler = a_scheduler(workflows=versions(changed))
    try_for_a_while(scheduler, passes=2)
    assert states(order) == {"mix": "running", "heat-oven": "running", "candle": "running"}
    assert open_alerts() == []


def test_an_old_order_does_not_stop_the_orders_of_a_definition_that_is_in_use() -> None:
    """Somebody cancels an order that was finished before the change."""
    steps = tuple(replace(step, after=("mix",)) if step.name == "bake" else step for step in CAKE.steps)
    changed = replace(CAKE, steps=steps)
    orders = [make_order(workflow=changed, fingerprint=changed.fingerprint) for _ in range(2)]
    old = make_order({"mix": "completed"}, goal="compensate", fingerprint=CAKE.fingerprint)
    before = everything(old)
    scheduler = a_scheduler(workflows=versions(changed))
    try_for_a_while(scheduler, passes=2)
    assert {states(order)["mix"] for order in orders} == {"running"}
    assert (everything(old), open_alerts()) == (before, [])


def test_another_version_goes_on_beside_one_that_is_refused() -> None:
    waiting = make_order(fingerprint=CAKE.fingerprint)
    second = replace(CAKE, version=4)
    order = make_order(workflow=second, fingerprint=second.fingerprint)
    a_scheduler(workflows=versions(with_another_step(CAKE), second)).run_once()
    assert (states(waiting), states(order)) == ({}, {"mix": "running", "heat-oven": "running"})


def test_the_supervisor_leaves_the_orders_of_a_refused_version_alone() -> None:
    order = processing({"mix": overdue()}, fingerprint=CAKE.fingerprint)
    before = everything(order)
    a_leader(workflows=versions(with_another_step(CAKE))).run_once()
    assert everything(order) == before


def test_new_orders_stay_in_the_queue_while_their_workflow_is_refused() -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)
    Admission(versions(CAKE)).check()
    make_order(fingerprint=CAKE.fingerprint)
    changed = with_another_step(CAKE)
    new = post()
    broken = a_role(intake=OrderIntake(newest={"fulfil-order": changed}), workflows=versions(changed))
    try_for_a_while(broken, passes=3)
    assert SubmissionMessage.objects.get().order_id == new
    assert open_alerts() == [("release", "bake-cake v3", "workflow_changed")]
    drain(a_role())
    assert OrderProcess.objects.get(pk=new).fingerprint == CAKE.fingerprint


# --- a database that lacks something


@pytest.mark.pattern("C9")
@pytest.mark.parametrize(
    ("table", "column"),
    [("orders_stepstate", "wanted_since"), ("orders_orderprocess", "overruns"), ("orders_event", "detail")],
)
def test_a_column_that_is_gone_stops_the_scheduler_and_harms_no_order(table: str, column: str) -> None:
    ids = orders_under_way(NUMBER)
    answer_everything()
    scheduler = a_scheduler("scheduler:running")
    with renamed(table, column):
        try_for_a_while(scheduler)
        assert nothing_is_in_error()
        assert open_alerts() == [("release", "scheduler", "ProgrammingError")]
        assert column in Alert.objects.get().message
    until(lambda: drain(scheduler)["replies"] > 0, what="the scheduler to go on by itself")
    until(lambda: alerts_after_a_pass(scheduler) == [], what="the alert to be closed")
    assert set(StepState.objects.filter(name="bake").values_list("state", flat=True)) == {"running"}
    assert {stored(order_id).process_state for order_id in ids[:3]} == {"processing"}
    assert nothing_is_in_error()


@pytest.mark.pattern("S3")
@pytest.mark.parametrize(
    ("table", "column"), [("orders_order", "placed_at"), ("orders_submissionmessage", "client")]
)
def test_a_column_that_is_gone_stops_submission_and_sets_nothing_aside(table: str, column: str) -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)
    ids = [post() for _ in range(20)]
    role = a_role()
    with renamed(table, column):
        try_for_a_while(role)
        assert open_alerts() == [("release", "submission", "ProgrammingError")]
    assert SubmissionMessage.objects.count() == 20
    until(lambda: drain(role)["accepted"] > 0, what="submission to go on by itself")
    drain(role)
    role.health.beat()
    assert set(OrderProcess.objects.values_list("pk", flat=True)) == set(ids)
    assert (nothing_is_in_error(), open_alerts()) == (True, [])


def test_a_column_that_is_gone_stops_the_sweeps_and_harms_no_order() -> None:
    order = processing({"mix": overdue()})
    clones(order, 49)
    leader = a_leader()
    with renamed("orders_stepstate", "extended_waits"):
        for _ in range(5):
            leader.run_once()
            leader.health.beat()
        assert nothing_is_in_error()
        assert open_alerts() == [("release", "supervisor", "ProgrammingError")]
    until(lambda: leader.run_once().done.get("recovered"), what="the supervisor to go on by itself")
    leader.run_once()
    assert OrderProcess.objects.filter(process_state="pending").count() == 50
