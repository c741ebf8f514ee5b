"""Steps whose agent has no room wait as long as their patience lasts, without counting a failure (A8, A9)."""

import pytest

from orders.engine.contracts import Step
from orders.models import (
    AgentInstance,
    AgentRequest,
    Alert,
    OrderProcess,
    StepState,
)
from orders.services.order_changes import resubmit_order
from tests.support.availability import (
    DAY,
    altered,
    close_circuit,
    failures,
    has_waiting,
    open_circuit,
    set_capacity,
    waited,
    waiting,
)
from tests.support.factories import ago, ahead, make_order, make_reply, step_of
from tests.support.roles import (
    a_scheduler,
    alerts_of,
    answer,
    answer_everything,
    clones,
    history,
    requested_steps,
    staff,
    states,
    status_kinds,
    stored,
)
from tests.support.workflows import BAKED, CAKE, PACKED

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A8")]


# --- a step without room


def test_a_step_without_credit_waits_with_no_complete_by_and_no_failure() -> None:
    order = make_order(BAKED, process_state="pending", priority=7)
    scheduler = a_scheduler()
    open_circuit()
    before = ahead(DAY)
    scheduler.run_once()
    row, box = stored(order), step_of(order, "box")
    assert (row.process_state, row.locked_by, failures(order)) == ("pending", None, 0)
    assert row.not_before is not None and before <= row.not_before <= ahead(DAY)
    assert (box.state, box.attempt, box.complete_by, box.outcome) == ("not_started", 0, None, "none")
    assert box.waiting_since is not None and ago(60) < box.waiting_since <= ago(0)
    assert (box.priority, requested_steps(), status_kinds(order)) == (7, set(), [])
    assert history(order) == [("waiting_for_agent", "decorate"), ("waiting_for_agent", "box")]
    since = box.waiting_since
    for _ in range(3):  # later passes leave it alone, and its wait goes on
        assert scheduler.run_once().done["orders"] == 0
    assert step_of(order, "box").waiting_since == since
    assert len(history(order)) == 2


def test_a_step_whose_neighbour_is_under_way_waits_beside_it() -> None:
    order = make_order()  # the oven can heat up, but the kitchen cannot mix
    scheduler = a_scheduler()
    open_circuit()
    scheduler.run_once()
    row = stored(order)
    assert (row.process_state, requested_steps(), states(order)) == (
        "processing",
        {"heat-oven"},
        {"heat-oven": "running"},
    )
    assert row.not_before is not None and row.not_before > ahead(DAY - 60)
    answer(order=order)
    scheduler.run_once()
    assert (stored(order).process_state, waiting(), failures(order)) == ("pending", 1, 0)
    close_circuit()
    scheduler.run_once()
    assert (stored(order).process_state, requested_steps(), waiting()) == ("processing", {"mix"}, 0)
    assert step_of(order, "mix").waiting_since is None


def test_with_new_credit_a_waiting_order_continues_to_its_end() -> None:
    order = make_order(reply_to="app")
    scheduler = a_scheduler()
    for agent in ("kitchen", "oven", "courier", "post"):
        open_circuit(agent)
    scheduler.run_once()
    assert (stored(order).process_state, status_kinds(order), requested_steps()) == ("pending", [], set())
    for agent in ("kitchen", "oven", "courier", "post"):
        close_circuit(agent)
    for _ in range(8):
        scheduler.run_once()
        answer(order=order)
    assert (stored(order).process_state, failures(order)) == ("processed", 0)
    assert status_kinds(order) == ["started", "completed"]
    assert set(StepState.objects.values_list("attempt", "waiting_since")) == {(1, None)}


@pytest.mark.pattern("A9")
def test_credit_goes_by_priority_and_then_by_age() -> None:
    scheduler = a_scheduler()
    open_circuit()
    low, old, young = (make_order(PACKED | {"decorate": {}}, priority=priority) for priority in (1, 5, 5))
    scheduler.run_once()
    assert waiting() == 3
    close_circuit()
    set_capacity("kitchen", 1)  # room for two
    high = make_order(PACKED | {"decorate": {}}, priority=9)  # a new order, which has not waited
    scheduler.run_once()
    assert {order.pk for order in (high, old)} == set(AgentRequest.objects.values_list("order_id", flat=True))
    assert {low.pk, young.pk} == set(
        StepState.objects.filter(waiting_since__isnull=False).values_list("process_id", flat=True)
    )
    answer_everything()
    scheduler.run_once()
    assert set(AgentRequest.objects.filter(agent="kitchen").values_list("order_id", flat=True)) == {
        young.pk,
        low.pk,
    }


@pytest.mark.pattern("A9")
def test_nothing_is_dispatched_to_an_agent_that_nobody_runs() -> None:
    order = make_order(BAKED)
    scheduler = a_scheduler()
    AgentInstance.objects.filter(agent="kitchen").delete()
    scheduler.run_once()
    assert (requested_steps(), waiting(), stored(order).process_state) == (set(), 2, "pending")
    staff()
    scheduler.run_once()
    assert (requested_steps(), waiting()) == ({"decorate", "box"}, 0)


# --- patience


def test_a_step_that_runs_out_of_patience_is_an_error_with_an_alert() -> None:
    order = make_order(PACKED | {"decorate": waited(DAY + 1)}, not_before=ago(1), reply_to="app")
    scheduler = a_scheduler()
    open_circuit()
    scheduler.run_once()
    decorate = step_of(order, "decorate")
    assert (stored(order).process_state, decorate.state, decorate.waiting_since) == ("error", "failed", None)
    assert alerts_of(order) == [("step_failed", "decorate", "agent_unavailable")]
    assert Alert.objects.get().message == "kitchen could not take this step for 86400 s"
    assert history(order) == [("step_given_up", "decorate"), ("error", "decorate")]
    assert (status_kinds(order), has_waiting()) == (["failed"], False)


def test_credit_at_the_last_moment_is_used() -> None:
    order = make_order(PACKED | {"decorate": waited(DAY + 1)}, not_before=ago(1))
    a_scheduler().run_once()
    assert (states(order)["decorate"], requested_steps()) == ("running", {"decorate"})


def test_a_step_whose_remedy_is_to_compensate_compensates_the_order_when_its_patience_is_over() -> None:
    order = make_order(BAKED | {"decorate": "completed", "box": waited(DAY + 1)}, not_before=ago(1))
    scheduler = a_scheduler()
    open_circuit()
    scheduler.run_once()
    row = stored(order)
    assert (row.goal, row.process_state, alerts_of(order)) == ("compensate", "pending", [])
    assert (step_of(order, "box").waiting_since, waiting()) == (
        None,
        1,
    )  # `decorate`, to be compensated first
    close_circuit()
    scheduler.run_once()
    assert requested_steps() == {"decorate"}


def test_each_step_has_its_own_patience() -> None:
    order = make_order(PACKED | {"decorate": waited(61)}, not_before=ago(1))
    scheduler = a_scheduler(workflows=altered("decorate", patience=60.0))
    open_circuit()
    scheduler.run_once()
    assert alerts_of(order) == [("step_failed", "decorate", "agent_unavailable")]


def test_a_resubmitted_step_has_its_full_patience_again() -> None:
    order = make_order(PACKED | {"decorate": waited(DAY + 1)}, not_before=ago(1))
    scheduler = a_scheduler()
    open_circuit()
    scheduler.run_once()
    resubmit_order(order_id=order.pk, by="ada")
    scheduler.run_once()
    assert (stored(order).process_state, waiting()) == ("pending", 1)
    close_circuit()
    scheduler.run_once()
    assert requested_steps() == {"decorate"}


# --- compensating


@pytest.mark.pattern("C10")
def test_a_compensation_also_waits_for_its_agent_and_finally_opens_an_alert_of_its_own_kind() -> None:
    order = make_order({"mix": "completed"}, goal="compensate")
    scheduler = a_scheduler()
    open_circuit()
    open_circuit("post")
    scheduler.run_once()
    assert (stored(order).process_state, waiting(), states(order)) == ("pending", 1, {"mix": "completed"})
    StepState.objects.filter(waiting_since__isnull=False).update(**waited(DAY + 1))
    OrderProcess.objects.update(not_before=ago(1))
    scheduler.run_once()
    assert alerts_of(order) == [("compensation_failed", "mix", "agent_unavailable")]
    close_circuit()
    close_circuit("post")
    resubmit_order(order_id=order.pk, by="ada")
    for _ in range(4):
        scheduler.run_once()
        answer(order=order)
    assert (stored(order).process_state, states(order)["mix"]) == ("compensated", "compensated")


# --- the host


def test_every_step_of_the_cake_has_patience_for_a_day() -> None:
    """The other tests here rely on this."""
    assert {step.patience for step in CAKE.steps} == {DAY}
    assert Step.__dataclass_fields__["patience"].default == DAY


@pytest.mark.pattern("A9", "F29")
@pytest.mark.parametrize(("number", "let_in"), [(0, 10), (6, 4), (30, 2)])
def test_the_more_replies_there_are_the_fewer_of_the_orders_that_have_waited_go_on(
    number: int, let_in: int
) -> None:
    """A new order took ten times as long while ten thousand others went on after an outage."""
    clones(make_order(PACKED | {"decorate": {}}), 39)
    scheduler = a_scheduler(batch=40)
    set_capacity("kitchen", 0)
    for _ in range(2):
        scheduler.run_once()
    assert waiting() == 40
    set_capacity("kitchen", 500)
    for _ in range(number):
        order = make_order(PACKED | {"deliver": "running"}, process_state="processing")
        make_reply(step_of(order, "deliver"))
    scheduler.run_once()
    assert AgentRequest.objects.filter(agent="kitchen").count() == let_in
    assert AgentRequest.objects.filter(agent="post").count() == number
