"""Undoing a whole order, from every point it can have reached (C10): in reverse, once per key, to the end (I10)."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from orders.engine.contracts import Compensation
from orders.models import AgentRequest, Alert, OrderProcess, StepState
from orders.services.orders import compensate, resubmit
from orders.services.results import ResultStatus
from tests.support.factories import ago, ahead, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    asked,
    drain,
    event_of,
    everything,
    expire,
    happened,
    states,
    stored,
    told,
)
from tests.support.workflows import CAKE

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C10")]

BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
PACKED = {**BAKED, "decorate": "completed", "box": "completed"}


def unknown(**fields: Any) -> dict[str, Any]:
    """A step that was asked for once and never answered; what it did has settled a second ago."""
    return {"attempt": 1, "outcome": "unknown", "settles_at": ago(1), **fields}


def an_order_to_undo(steps: Mapping[str, Any], **process: Any) -> OrderProcess:
    fields = {"goal": "compensate", "started_at": ago(60), "reply_to": "app-1"}
    return make_order(steps, **(fields | process))


def undo_all(order: OrderProcess, *, turns: int = 12) -> list[set[str]]:
    """Takes turns with agents that can undo everything, until the order has ended; returns what each turn asked."""
    scheduler, waves = a_scheduler(), []
    for _ in range(turns):
        scheduler.run_once()
        if stored(order).process_state not in ("pending", "processing"):
            return waves
        waves.append(answer(order=order))
    raise AssertionError(f"not undone after {turns} turns: {waves}, {states(order)}")


def points() -> Iterator[Any]:
    """Every point that an order of the workflow can have reached.

    The completed steps are closed under "comes after"; of those that could be begun each was not, or nobody knows.
    """
    names = [step.name for step in CAKE.steps]
    for chosen in product([False, True], repeat=len(names)):
        done = {name for name, is_done in zip(names, chosen, strict=True) if is_done}
        if not all(set(CAKE.by_name[name].after) <= done for name in done):
            continue
        open_now = [s.name for s in CAKE.steps if s.name not in done and set(s.after) <= done]
        for asked_for in product([False, True], repeat=len(open_now)):
            lost = {name for name, was in zip(open_now, asked_for, strict=True) if was}
            label = "+".join(sorted(done)) or "nothing"
            yield pytest.param(done, lost, id=label + "".join(f"-{name}?" for name in sorted(lost)))


@pytest.mark.parametrize(("done", "lost"), list(points()))
def test_from_every_point_what_was_done_or_may_have_been_is_undone_in_reverse_and_the_notice_comes_last(
    done: set[str], lost: set[str]
) -> None:
    order = an_order_to_undo(
        dict.fromkeys(done, "completed") | {name: unknown() for name in lost},
    )
    waves = undo_all(order)
    to_undo = {name for name in done | lost if CAKE.by_name[name].compensation is Compensation.REVERSE}
    assert set().union(*waves) == to_undo | {"tell"}
    assert sum(len(wave) for wave in waves) == len(to_undo) + 1  # nothing twice
    assert waves[-1] == {"tell"}
    history = happened(order, "undo_started", "step_compensated")
    for name in to_undo:
        began = history.index(("undo_started", name))
        for later in to_undo & set(CAKE.dependents[name]):
            assert history.index(("step_compensated", later)) < began
    assert history[-2:] == [("undo_started", "tell"), ("step_compensated", "tell")]
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("compensated", None, None)
    assert row.finished_at is not None
    assert {name for name, state in states(order).items() if state == "compensated"} == to_undo | {"tell"}
    assert told(order) == ["compensated"]
    assert (alerts_of(order), asked()) == ([], set())


@pytest.mark.pattern("A3", "T5", "C5")
def test_the_request_of_an_undo_names_its_own_key_the_forward_key_and_the_steps_own_answer() -> None:
    order = an_order_to_undo(
        {
            **PACKED,
            "box": {"state": "completed", "result": {"ribbon": "red"}},
            "bake": {"state": "completed", "result": {"crust": "golden"}},
            "deliver": {"state": "completed", "result": {"parcel": 7}, "generation": 2, "attempt": 3},
        }
    )
    since = ahead(30)
    a_scheduler().run_once()
    request, deliver = AgentRequest.objects.get(), step_of(order, "deliver")
    assert (request.step, request.agent, request.operation) == ("deliver", "courier", "deliver-it")
    assert (request.undo, request.attempt) == (True, 4)
    assert request.key == f"{order.pk}/deliver/2/undo"
    assert request.reverses == f"{order.pk}/deliver/2"
    assert request.body == {
        "data": {"portions": 1},
        "results": {"bake": {"crust": "golden"}, "box": {"ribbon": "red"}, "deliver": {"parcel": 7}},
    }
    assert (deliver.state, deliver.attempt, deliver.outcome) == ("compensating", 4, "done")
    assert deliver.complete_by is not None and deliver.complete_by >= since
    assert request.complete_by == deliver.complete_by
    assert stored(order).process_state == "processing"


# --- what is under way when the goal turns


def test_an_unknown_outcome_is_undone_only_after_it_has_settled() -> None:
    settles_at = ahead(5)
    order = an_order_to_undo({"mix": unknown(settles_at=settles_at)})
    scheduler = a_scheduler()
    scheduler.run_once()
    row = stored(order)
    assert (row.process_state, row.not_before, asked()) == ("pending", settles_at, set())
    assert scheduler.run_once().done["orders"] == 0
    all_due(order)
    scheduler.run_once()
    assert asked() == {"mix"}


def test_a_running_step_is_awaited_and_what_it_depends_on_is_left_alone_until_then() -> None:
    order = an_order_to_undo({**BAKED, "decorate": "completed", "box": "running"})
    make_request(step_of(order, "box"), deliveries=1, leased_by="agents:a", leased_until=ahead(8))
    scheduler = a_scheduler()
    scheduler.run_once()
    # `decorate` does not depend on `box`: it is undone at once. `bake` and `mix` come before it.
    assert states(order) == {**BAKED, "decorate": "compensating", "box": "running"}
    assert (stored(order).process_state, stored(order).locked_by) == ("processing", "scheduler:a")
    answer(order=order)
    scheduler.run_once()
    assert states(order)["box"] == "compensating"
    assert step_of(order, "box").outcome == "done"
    assert states(order)["bake"] == "completed"
    assert undo_all(order)[-1] == {"tell"}
    assert stored(order).process_state == "compensated"


def test_a_running_step_is_awaited_even_if_there_is_nothing_to_undo_about_it() -> None:
    order = an_order_to_undo({"heat-oven": "running"}, process_state="processing")
    make_request(step_of(order, "heat-oven"), deliveries=1, leased_by="agents:a", leased_until=ahead(8))
    compensate_now(order)
    scheduler = a_scheduler()
    scheduler.run_once()
    assert (stored(order).process_state, asked()) == ("processing", {"heat-oven"})
    answer(order=order)
    assert undo_all(order) == [{"tell"}]
    assert (stored(order).process_state, states(order)["heat-oven"]) == ("compensated", "completed")


def test_a_running_step_that_is_never_answered_is_given_up_by_the_supervisor_and_undone_once_settled() -> (
    None
):
    order = an_order_to_undo(
        {"mix": "running", "heat-oven": "completed"}, process_state="processing", failure_count=0
    )
    expire(order, "mix")
    a_leader(threshold=1).run_once()
    mix, row = step_of(order, "mix"), stored(order)
    assert (mix.state, mix.outcome, mix.failure_count, mix.complete_by) == ("not_started", "unknown", 0, None)
    assert (row.process_state, row.locked_by, row.failure_count) == ("pending", None, 0)
    assert event_of(order, "step_timed_out").detail["ruling"] == "settle"
    scheduler = a_scheduler()
    scheduler.run_once()
    assert (asked(), stored(order).not_before) == (set(), mix.settles_at)
    all_due(order)
    assert undo_all(order) == [{"mix"}, {"tell"}]
    assert alerts_of(order) == []


def test_a_request_that_no_agent_has_begun_is_taken_back_and_needs_no_undo() -> None:
    order = an_order_to_undo({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_request(step_of(order, "mix"))
    compensate_now(order)
    assert a_scheduler().run_once().done["recalled"] == 1
    mix = step_of(order, "mix")
    assert (mix.state, mix.outcome, mix.complete_by, mix.answered) == ("not_started", "none", None, 1)
    assert happened(order, "step_recalled") == [("step_recalled", "mix")]
    assert undo_all(order) == [{"tell"}]


def compensate_now(order: OrderProcess) -> None:
    """What the service does to a Processing order, for one whose goal has turned already."""
    OrderProcess.objects.filter(pk=order.pk).update(
        process_state="pending", locked_by=None, complete_by=None, not_before=None
    )


def test_a_second_attempt_that_is_taken_back_may_have_been_done_by_the_first() -> None:
    settles_at = ahead(35)
    order = an_order_to_undo({"mix": {"state": "running", "attempt": 2, "settles_at": settles_at}})
    make_request(step_of(order, "mix"))
    scheduler = a_scheduler()
    scheduler.run_once()
    assert (step_of(order, "mix").outcome, asked()) == ("unknown", set())
    assert stored(order).not_before == settles_at
    all_due(order)
    assert undo_all(order) == [{"mix"}, {"tell"}]


@pytest.mark.parametrize("deliveries", [1, 2])
def test_a_request_that_an_agent_has_had_is_not_taken_back_even_if_it_is_free_again(deliveries: int) -> None:
    order = an_order_to_undo({"mix": "running"})
    make_request(step_of(order, "mix"), deliveries=deliveries)
    assert a_scheduler().run_once().done["recalled"] == 0
    assert (states(order), asked()) == ({"mix": "running"}, {"mix"})


@pytest.mark.parametrize(
    ("said", "undone"), [("done", True), ("refused", False), ("declined", False), ("failed", True)]
)
def test_the_reply_of_an_awaited_step_says_whether_it_has_to_be_undone(said: str, undone: bool) -> None:
    order = an_order_to_undo(
        {"mix": {"state": "running", "settles_at": ago(1)}, "heat-oven": "completed"},
        process_state="processing",
    )
    make_reply(step_of(order, "mix"), said)
    assert undo_all(order) == ([{"mix"}, {"tell"}] if undone else [{"tell"}])
    assert stored(order).process_state == "compensated"
    assert alerts_of(order) == []


@pytest.mark.pattern("C9")
def test_a_late_forward_reply_changes_nothing_once_the_undo_was_sent() -> None:
    order = an_order_to_undo({"mix": unknown()})
    scheduler = a_scheduler()
    scheduler.run_once()
    make_reply(step_of(order, "mix"), attempt=1, undo=False)
    before = everything(order)[1]
    scheduler.run_once()
    assert everything(order)[1] == before
    assert happened(order, "reply_ignored") == [("reply_ignored", "mix")]
    assert undo_all(order) == [{"mix"}, {"tell"}]


# --- an undo that fails


@pytest.mark.pattern("C7", "O1", "O2", "A3")
def test_an_undo_that_is_refused_is_its_own_alert_and_gets_the_next_undo_key_when_resubmitted() -> None:
    order = an_order_to_undo({"mix": "completed"})
    scheduler = a_scheduler()
    scheduler.run_once()
    assert answer("refused", {"code": "eaten", "message": "it is eaten"}, order=order) == {"mix"}
    scheduler.run_once()
    mix, row = step_of(order, "mix"), stored(order)
    assert (mix.state, mix.outcome, mix.undo_failure_count) == ("failed", "done", 1)
    assert mix.error == {"code": "eaten", "message": "it is eaten"}
    assert (row.process_state, row.goal, row.failure_count) == ("error", "compensate", 1)
    alert = Alert.objects.get()
    assert (alert.kind, alert.step, alert.code) == ("compensation_failed", "mix", "eaten")
    assert told(order) == ["failed"]
    assert happened(order, "undo_failed", "error") == [("undo_failed", "mix"), ("error", "mix")]
    assert resubmit(order_id=order.pk, by="operator").status is ResultStatus.DONE
    scheduler.run_once()
    request = AgentRequest.objects.get()
    assert request.key == f"{order.pk}/mix/1/undo2"
    assert request.reverses == f"{order.pk}/mix/1"
    assert undo_all(order) == [{"mix"}, {"tell"}]
    row = stored(order)
    assert (row.process_state, row.failure_count) == ("compensated", 0)
    assert Alert.objects.get().resolution == "resubmitted"
    assert told(order) == ["failed", "compensated"]


@pytest.mark.pattern("O2", "A3")
def test_an_undo_of_which_nobody_knows_keeps_its_key_when_resubmitted() -> None:
    order = an_order_to_undo({"mix": "completed"})
    scheduler = a_scheduler()
    scheduler.run_once()
    answer("failed", {"code": "lost", "message": "no idea"}, order=order)
    scheduler.run_once()
    assert alerts_of(order) == [("compensation_failed", "mix", "lost")]
    resubmit(order_id=order.pk, by="operator")
    scheduler.run_once()
    assert AgentRequest.objects.get().key == f"{order.pk}/mix/1/undo"


def test_of_two_undos_under_way_one_fails_and_the_others_answer_is_kept() -> None:
    order = an_order_to_undo(PACKED)
    scheduler = a_scheduler()
    scheduler.run_once()
    assert asked() == {"decorate", "box"}
    answer("refused", order=order, only=["box"])
    scheduler.run_once()
    assert (stored(order).process_state, states(order)["decorate"]) == ("error", "compensating")
    answer(order=order, only=["decorate"])
    scheduler.run_once()
    assert (stored(order).process_state, states(order)["decorate"]) == ("error", "compensated")
    assert alerts_of(order) == [("compensation_failed", "box", "no")]
    resubmit(order_id=order.pk, by="operator")
    assert undo_all(order) == [{"box"}, {"bake"}, {"mix"}, {"tell"}]


@pytest.mark.pattern("V2", "V3")
def test_an_undo_is_tried_more_often_than_a_forward_step_before_it_is_an_error() -> None:
    forward = make_order({"mix": "running"}, process_state="processing")
    order = an_order_to_undo({"mix": "completed"})
    scheduler, leader = a_scheduler(), a_leader(threshold=2)
    tries = {forward.pk: 0, order.pk: 0}
    for _ in range(10):
        drain(scheduler)
        for one in (forward, order):
            running = one.steps.filter(name="mix", complete_by__isnull=False).exists()
            tries[one.pk] += running
        AgentRequest.objects.all().delete()
        for one in (forward, order):
            expire(one)
        leader.run_once()
        for one in (forward, order):
            all_due(one)
    assert tries == {forward.pk: 2, order.pk: 4}
    assert alerts_of(order) == [("compensation_failed", "mix", "timed_out")]
    mix = step_of(order, "mix")
    assert (mix.state, mix.outcome, mix.undo_failure_count, mix.failure_count) == ("failed", "done", 4, 0)
    assert (stored(order).process_state, stored(order).goal) == ("error", "compensate")
    assert stored(order).failure_count == 4
    assert happened(order, "undo_timed_out") == [("undo_timed_out", "mix")] * 4


@pytest.mark.pattern("V2", "A3")
def test_an_undo_that_timed_out_is_tried_again_with_the_same_key_after_its_backoff() -> None:
    order = an_order_to_undo({"mix": "completed"})
    scheduler = a_scheduler()
    scheduler.run_once()
    first = AgentRequest.objects.get()
    expire(order)
    a_leader().run_once()
    mix, row = step_of(order, "mix"), stored(order)
    assert (mix.state, mix.complete_by, mix.undo_failure_count) == ("compensating", None, 1)
    assert mix.not_before is not None and mix.not_before <= ahead(2)
    assert (row.process_state, row.not_before, row.failure_count) == ("pending", mix.not_before, 1)
    all_due(order)
    scheduler.run_once()
    second = AgentRequest.objects.get()
    assert (second.key, second.attempt) == (first.key, first.attempt + 1)
    assert second.pk != first.pk


@pytest.mark.pattern("O2")
def test_resubmitting_does_not_undo_a_step_before_what_it_may_have_done_has_settled() -> None:
    order = an_order_to_undo(
        {
            **PACKED,
            "decorate": {
                "state": "failed",
                "attempt": 1,
                "answered": 1,
                "outcome": "unknown",
                "settles_at": ahead(5),
            },
            "box": {"state": "failed", "attempt": 2, "answered": 2, "outcome": "done", "undo_generation": 2},
        },
        process_state="error",
    )
    resubmit(order_id=order.pk, by="operator")
    a_scheduler().run_once()
    assert asked() == {"box"}


@pytest.mark.pattern("C6")
def test_an_order_that_was_undone_is_left_alone() -> None:
    order = an_order_to_undo({"mix": "completed"})
    undo_all(order)
    before = everything(order)
    assert compensate(order_id=order.pk, by="operator").status is ResultStatus.ALREADY
    drain(a_scheduler())
    a_leader().run_once()
    assert everything(order) == before
    assert StepState.objects.filter(complete_by__isnull=False).count() == 0


def test_an_order_that_never_began_is_undone_by_its_notice_alone() -> None:
    order = make_order(reply_to="app-1")
    assert compensate(order_id=order.pk, by="customer").status is ResultStatus.DONE
    assert undo_all(order) == [{"tell"}]
    assert states(order) == {"tell": "compensated"}
    request_key = event_of(order, "undo_started").detail["key"]
    assert request_key == f"{order.pk}/tell/1/undo"
    assert stored(order).process_state == "compensated"
