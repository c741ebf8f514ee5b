"""Moving orders to a later version of their workflow: what is written, and which orders stay (rule 10)."""

from dataclasses import replace
from typing import Any

import pytest

from orders.engine.runtime.sql import run
from orders.models import AgentRequest, AuditEntry, Event, StepState, WorkflowDefinition
from orders.services.operators.moving import CannotMoveError, Hindrance, move_orders, preview
from orders.services.order_changes import compensate_order, resubmit_order
from tests.services.moved_orders import JOURNEY, OLGA, bakery, let_it_end, move, reasons, versions_of
from tests.support import histories, invariants, replay
from tests.support.factories import ago, ahead, make_alert, make_reply, step_of
from tests.support.roles import (
    a_scheduler,
    alerts_of,
    answer,
    drain,
    event_of,
    everything,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.versions import NEW, TASTED, UNKNOWN, VERSIONS, an_old_order

__all__ = ["bakery"]
pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C4")]


def test_an_order_goes_on_with_the_steps_of_the_later_version() -> None:
    order = an_old_order(TASTED, priority=7)
    report = move("the cakes are iced now")
    assert (report.movable, report.hindrances) == (1, [])
    row = stored(order)
    assert (row.version, row.fingerprint, row.process_state) == (2, NEW.fingerprint, "pending")
    steps = StepState.objects.filter(process_id=order.pk).order_by("position")
    assert [
        (step.name, step.agent, step.position, step.state, step.request, step.priority) for step in steps
    ] == [
        ("mix", "kitchen", 0, "completed", {"portions": 1}, 5),
        ("approve", "", 1, "completed", {"portions": 1}, 5),
        ("bake", "oven", 2, "not_started", {"cake": "lemon"}, 5),
        ("ice", "kitchen", 3, "not_started", {"icing": "pink"}, 7),
        ("stamp", "kitchen", 4, "not_started", {"cake": "lemon"}, 5),
    ]
    assert let_it_end(order) == "processed"
    started = Event.objects.filter(order_id=order.pk, kind="step_started").order_by("id")
    assert [event.detail["key"] for event in started] == [
        f"{order.pk}/{name}/1" for name in ("bake", "ice", "stamp")
    ]


def test_a_move_is_in_the_orders_history_and_in_the_audit_log() -> None:
    order = an_old_order()
    move("the cakes are iced now")
    event = event_of(order, "version_changed")
    assert (event.actor_kind, event.actor_name, event.step) == ("operator", "olga", "")
    assert event.detail == {
        "before": 1,
        "after": 2,
        "renamed": {"taste": "approve", "sign": "stamp"},
        "dropped": ["candle"],
        "added": ["ice"],
        "reason": "the cakes are iced now",
    }
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.ip_address, entry.act, entry.target, entry.result, entry.reason) == (
        *("olga", "10.0.0.7", "move orders", "workflow ice-cake"),
        *("Moved 1 order from version 1 to 2.", "the cakes are iced now"),
    )
    assert (entry.before, entry.after) == ({"version": 1}, {"version": 2})
    move()
    assert AuditEntry.objects.latest("id").result == "Moved 0 orders from version 1 to 2."


def test_what_orders_are_moved_to_is_recorded_so_that_a_later_release_can_tell_what_it_has_changed() -> None:
    an_old_order()
    move()
    assert WorkflowDefinition.objects.filter(
        name=NEW.name, version=2, fingerprint=NEW.fingerprint, definition=NEW.definition
    ).exists()


def test_a_preview_counts_and_changes_nothing() -> None:
    movable = an_old_order(TASTED)
    running = [an_old_order({"mix": "running"}, process_state="processing") for _ in range(2)]
    cancelled = an_old_order(goal="compensate")
    ended = an_old_order(process_state="processed")
    orders = [movable, *running, cancelled, ended]
    before = [everything(order) for order in orders]
    report = preview(**JOURNEY)
    assert report.movable == 1
    assert report.hindrances == [
        Hindrance(
            reason="step mix is under way",
            passes=True,
            example=min(order.pk for order in running),
            number=2,
        ),
        Hindrance(reason="it is being cancelled", passes=False, example=cancelled.pk, number=1),
    ]
    assert [everything(order) for order in orders] == before
    assert not AuditEntry.objects.exists() and not Event.objects.exists()
    assert (report.changes.added, report.changes.dropped) == (["ice"], ["candle"])
    assert (move().movable, versions_of(*orders)) == (1, [2, 1, 1, 1, 1])


def test_a_call_whose_outcome_is_unknown_is_repeated_with_its_key() -> None:
    order = an_old_order({**TASTED, "bake": {**UNKNOWN, "sent_at": ago(9), "not_before": ahead(60)}})
    move()
    bake = step_of(order, "bake")
    assert (bake.request, bake.outcome, bake.not_before is not None) == ({"portions": 1}, "unknown", True)
    StepState.objects.filter(pk=bake.pk).update(not_before=None)
    drain(a_scheduler(workflows=VERSIONS))
    assert AgentRequest.objects.get().key == f"{order.pk}/bake/1"


def test_a_reply_that_is_read_after_the_move_counts() -> None:
    order = an_old_order({**TASTED, "bake": UNKNOWN})
    make_reply(step_of(order, "bake"))
    move()
    drain(a_scheduler(workflows=VERSIONS))
    assert (states(order)["bake"], requested_steps(order)) == ("completed", {"ice"})


def test_an_order_in_error_moves_and_stays_in_error_until_it_is_resubmitted() -> None:
    order = an_old_order({**TASTED, "bake": "failed"}, process_state="error", started_at=ago(60))
    make_alert(order.pk, step="bake", agent="oven")
    assert move().movable == 1
    assert (stored(order).process_state, alerts_of(order)) == ("error", [("step_failed", "bake", "no")])
    drain(a_scheduler(workflows=VERSIONS))
    assert states(order)["bake"] == "failed"
    resubmit_order(order_id=order.pk, by="olga")
    drain(a_scheduler(workflows=VERSIONS))
    request = AgentRequest.objects.get()
    assert (request.key, step_of(order, "bake").request) == (f"{order.pk}/bake/2", {"cake": "lemon"})
    assert let_it_end(order) == "processed"


def test_what_an_operator_has_edited_stays_and_so_does_what_a_customer_may_have_changed() -> None:
    edited = {"state": "failed", "request": {"cake": "plum"}, "original": {"cake": "lemon"}}
    by_operator = an_old_order({"mix": edited}, process_state="error")
    by_customer = an_old_order(
        {"mix": {"state": "failed", "not_before": ahead(60), "request": {"cake": "plum", "old": 1}}}
    )
    untouched = an_old_order({"mix": {"request": {"cake": "plum"}}})
    move()
    assert step_of(by_operator, "mix").request == {"cake": "plum"}
    assert step_of(by_operator, "mix").original == {"cake": "lemon"}
    assert step_of(by_customer, "mix").request == {"cake": "plum", "size": 2}
    assert step_of(untouched, "mix").request == {"cake": "lemon", "size": 2}


def test_a_step_waits_for_its_new_agent_only_from_now_on() -> None:
    waits = {"waiting_since": ago(60), "wanted_since": ago(90)}
    order = an_old_order({**TASTED, "bake": waits, "sign": waits}, not_before=ahead(600))
    move()
    bake, stamp = step_of(order, "bake"), step_of(order, "stamp")
    assert bake.waiting_since is not None and bake.wanted_since is not None
    assert (stamp.agent, stamp.waiting_since, stamp.wanted_since) == ("kitchen", None, None)


def test_an_order_that_waits_is_looked_at_at_once() -> None:
    order = an_old_order({**TASTED, "bake": {**UNKNOWN, "not_before": ahead(500)}}, not_before=ahead(500))
    new = an_old_order()
    move()
    wait = stored(order).not_before
    assert wait is not None and ago(60) < wait <= ahead(0)
    assert stored(new).not_before is None


@pytest.mark.pattern("C10")
def test_a_moved_order_is_compensated_as_its_new_version_says() -> None:
    order = an_old_order(TASTED)
    move()
    drain(a_scheduler(workflows=VERSIONS))
    answer(order=order, only=["bake"])
    drain(a_scheduler(workflows=VERSIONS))
    answer(order=order, only=["ice"])
    compensate_order(order_id=order.pk, by="olga")
    assert let_it_end(order) == "compensated"
    steps = [step for kind, step in history(order, "step_compensated")]
    assert steps == ["ice", "bake", "mix"]


def test_the_history_of_a_moved_order_adds_up() -> None:
    order = an_old_order()
    assert move().movable == 1
    assert let_it_end(order) == "processed"
    invariants.events_give_the_state([order.pk])
    histories.predecessors_first([order.pk], NEW)
    histories.attempts_only_grow([order.pk])
    assert replay.stored([order.pk])[order.pk].steps.keys() == NEW.by_name.keys()


def test_a_wait_that_was_answered_on_the_old_version_is_not_asked_for_again() -> None:
    order = an_old_order()
    drain(a_scheduler(workflows=VERSIONS))
    answer(order=order)
    drain(a_scheduler(workflows=VERSIONS))
    assert reasons(move()) == [("step taste waits for an answer or a time", True, 1)]
    taste = step_of(order, "taste")
    make_reply(taste, body={"choice": "accept", "by": "olga", "note": ""})
    drain(a_scheduler(workflows=VERSIONS))
    answer(order=order)
    drain(a_scheduler(workflows=VERSIONS))
    assert reasons(move()) == [("step sign has begun, and version 2 calls it stamp", False, 1)]
    invariants.events_give_the_state([order.pk])


# --- who cannot move


def test_an_order_that_started_with_another_definition_stays() -> None:
    an_old_order(fingerprint="another")
    older = an_old_order(fingerprint="")
    assert reasons(move()) == [("it started with another definition of this version", False, 1)]
    assert versions_of(older) == [2]


def test_an_order_without_data_stays() -> None:
    an_old_order(data=None)
    assert reasons(move()) == [("it has no data", False, 1)]


def test_data_that_the_later_version_cannot_read_stop_only_their_own_order() -> None:
    orders = [an_old_order(), an_old_order(data={"cake": "lemon"}), an_old_order()]
    report = move()
    assert reasons(report) == [("the data of step ice cannot be read from it: KeyError: 'icing'", False, 1)]
    assert versions_of(*orders) == [2, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "no-cake"}, "this release has no workflow 'no-cake'"),
        (
            {"to_version": 3},
            "ice-cake declares no move from version 1 to 3: add it to the moves of its kind",
        ),
    ],
)
def test_a_move_that_is_not_declared_is_refused(change: dict[str, Any], message: str) -> None:
    for act in (preview, lambda **journey: move_orders(**journey, actor=OLGA)):
        with pytest.raises(CannotMoveError) as error:
            act(**(JOURNEY | change))
        assert str(error.value) == message
    assert not AuditEntry.objects.exists()


def test_nothing_moves_to_a_version_that_was_changed_in_place() -> None:
    order = an_old_order()
    changed = replace(NEW, steps=NEW.steps[:-1])
    a_scheduler(workflows={(NEW.name, 2): changed}).run_once()
    other = an_old_order()
    run(
        "UPDATE orders_orderprocess SET version = 2, fingerprint = %s WHERE order_id = %s",
        [changed.fingerprint, other.pk],
    )
    with pytest.raises(CannotMoveError, match="is not what the orders on it started with"):
        move()
    assert versions_of(order) == [1]
