"""What is compared with the remote services: every order that exists, and every step completed in a time."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from uuid_utils.compat import uuid7

from orders.models import ArchivedOrder, Event, OrderProcess, SetAside, StepState, SubmissionMessage
from orders.selectors.desk import reconciliation
from orders.selectors.desk.reconciliation import completed_steps, known_orders, settled_by_hand
from tests.support.factories import ago, make_order
from tests.support.finished_orders import finished_order, is_stored, retain
from tests.support.workflows import BAKED, CAKE

pytestmark = pytest.mark.django_db


def completed_order(*, age: float = 60.0, finished: float | None = None, **fields: Any) -> UUID:
    """An order whose mix was completed `age` seconds ago, and that finished `finished` seconds ago, if it has."""
    finished_at = None if finished is None else ago(finished)
    state = {"process_state": "processing" if finished is None else "processed"}
    order = make_order(BAKED, finished_at=finished_at, **(state | fields))
    StepState.objects.filter(process=order, state="completed").update(completed_at=ago(age))
    return order.order_id


def mixed(since: float = 3_600.0) -> list[UUID]:
    """The orders whose mix is read as completed, page by page."""
    pages = completed_steps(agent="kitchen", since=ago(since))
    return [step.order_id for page in pages for step in page]


@pytest.mark.pattern("F35")
def test_an_order_is_known_wherever_it_is() -> None:
    submitted, aside, stranger = uuid7(), uuid7(), uuid7()
    SubmissionMessage.objects.create(order_id=submitted, client="c", body={})
    SetAside.objects.create(order_id=aside, client="c", body={}, reason="no", posted_at=ago(5))
    archived = finished_order()
    retain()
    assert not is_stored(archived)
    order = make_order({"mix": {"state": "failed", "generation": 3}}, process_state="error")
    orders = known_orders({submitted, aside, stranger, archived, order.order_id})
    assert orders.keys() == {submitted, aside, archived, order.order_id}
    assert orders[submitted] == orders[aside] == {}
    names = {step.name for step in CAKE.steps}
    assert orders[archived].keys() == orders[order.order_id].keys() == names
    step, old = orders[order.order_id]["mix"], orders[archived]["mix"]
    assert (step.workflow, step.version) == (old.workflow, old.version) == (CAKE.name, CAKE.version)
    assert (step.goal, step.process_state, step.state, step.outcome, step.generation) == (
        "complete", "error", "failed", "refused", 3,
    )  # fmt: skip
    assert (old.goal, old.process_state, old.state, old.outcome, old.generation) == (
        "complete", "processed", "completed", "done", 1,
    )  # fmt: skip


def test_orders_are_looked_up_with_four_queries_however_many_there_are() -> None:
    ids = {make_order().order_id for _ in range(5)}
    with CaptureQueriesContext(connection) as captured:
        assert known_orders(ids).keys() == ids
    assert len(captured) == 4


def test_completed_steps_are_read_with_what_their_agent_was_sent() -> None:
    order_id = completed_order()
    StepState.objects.filter(process_id=order_id, name="bake").update(generation=2, attempt=4)
    steps = [step for page in completed_steps(agent="oven", since=ago(3_600)) for step in page]
    bake = next(step for step in steps if step.name == "bake")
    assert {step.name for step in steps} == {"heat-oven", "bake"}
    assert bake.key == f"{order_id}/bake/2"
    assert (bake.workflow, bake.version, bake.attempt) == (CAKE.name, CAKE.version, 4)
    assert bake.request == {"portions": 1}
    assert bake.results["mix"] == {"ok": True}
    assert ago(70) < bake.completed_at < ago(50)


@pytest.mark.parametrize("state", ["pending", "processing", "error"])
def test_completed_steps_of_an_unfinished_order_are_read(state: str) -> None:
    order_id = completed_order(process_state=state)
    assert mixed() == [order_id]


@pytest.mark.parametrize("days", [0, 90])
def test_completed_steps_of_a_finished_order_are_read_from_the_archive_too(
    days: float, settings: Settings
) -> None:
    """With `KEEP_FINISHED=0` an order is archived as soon as it has finished."""
    order_id = completed_order(finished=30)
    settings.CONFIG = replace(settings.CONFIG, keep_finished=days)
    retain()
    assert is_stored(order_id) is (days > 0)
    assert mixed() == [order_id]


def test_what_was_completed_earlier_or_is_being_compensated_is_not_read() -> None:
    completed_order(age=7_200)
    completed_order(age=7_200, finished=30)
    completed_order(age=7_200, finished=7_000)
    completed_order(goal="compensate")
    make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    compensated = {**BAKED, "mix": {"state": "compensated", "completed_at": ago(60)}}
    make_order(compensated, process_state="compensated", goal="compensate", finished_at=ago(30))
    assert mixed() == []


def test_steps_are_read_in_pages_and_each_once(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(reconciliation, "PAGE", 2)
    archived = {completed_order(finished=40) for _ in range(3)}
    settings.CONFIG = replace(settings.CONFIG, keep_finished=0)
    retain()
    stored = {completed_order() for _ in range(5)} | {completed_order(finished=30) for _ in range(4)}
    OrderProcess.objects.filter(finished_at__isnull=False).update(finished_at=ago(20))
    ArchivedOrder.objects.update(archived_at=ago(10))
    pages = [page for page in completed_steps(agent="kitchen", since=ago(3_600)) if page]
    assert {len(page) for page in pages} <= {1, 2}
    read = [step.order_id for page in pages for step in page]
    assert sorted(read) == sorted(archived | stored)


def test_an_order_that_finishes_meanwhile_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciliation, "PAGE", 1)
    ids = [completed_order() for _ in range(3)]
    read: list[UUID] = []
    for page in completed_steps(agent="kitchen", since=ago(3_600)):
        read += [step.order_id for step in page]
        OrderProcess.objects.filter(process_state="processing").update(
            process_state="processed", finished_at=ago(0), locked_by=None, complete_by=None
        )
    assert set(read) == set(ids)


def test_only_what_an_operator_settled_with_proof_is_settled_by_hand() -> None:
    order_id, archived = make_order().order_id, finished_order()
    kinds = [("settled_done", "mix"), ("settled_compensated", "bake"), ("settled_not_done", "box")]
    for kind, step in [*kinds, ("resubmitted", "deliver")]:
        Event.objects.create(
            order_id=order_id, kind=kind, step=step, actor_kind="operator", actor_name="operator:ada"
        )
    Event.objects.create(
        order_id=archived, kind="settled_done", step="mix", actor_kind="operator", actor_name="operator:ada"
    )
    retain()
    assert not is_stored(archived)
    assert settled_by_hand({order_id, archived}) == {(order_id, "mix"), (order_id, "bake"), (archived, "mix")}
