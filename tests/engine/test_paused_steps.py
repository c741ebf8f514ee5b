"""A step is paused in all orders of its workflow: none of them calls its agent, and nothing is counted against them."""

from collections.abc import Callable
from typing import Any

import pytest

from orders.engine import state_store
from orders.engine.channels import leases
from orders.engine.runtime.sql import run
from orders.models import AgentRequest, OrderProcess, StepPause, StepState
from tests.support.factories import ago, ahead, make_order, make_purchase, make_reply, make_request, step_of
from tests.support.overdue import overdue
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    answer,
    clones,
    drain,
    event_of,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.two_sessions import Session
from tests.support.workflows import PARTIES, PARTY

NewSession = Callable[[], Session]
pytestmark = pytest.mark.django_db
UNDER_WAY: dict[str, Any] = {"process_state": "processing"}


def pause(step: str = "mix", **fields: Any) -> StepPause:
    fields = {"workflow": "bake-cake", "by": "olga", "reason": "mould"} | fields
    return StepPause.objects.create(step=step, **fields)


def tidy_pass() -> None:
    """Passes of a scheduler that has not tidied yet, so its first one does."""
    drain(a_scheduler())


def claimed(agent: str = "kitchen") -> list[str]:
    return [lease.step for lease in leases.claim(room={agent: 100}, me="agents:a", seconds=10)]


@pytest.mark.pattern("C1")
def test_no_call_of_a_paused_step_begins_and_the_others_go_on() -> None:
    pause()
    order = make_order(process_state="pending")
    tidy_pass()
    assert requested_steps(order) == {"heat-oven"}
    mix = step_of(order, "mix")
    assert mix.paused_since is not None and (mix.waiting_since, mix.wanted_since) == (None, None)
    answer(order=order)
    tidy_pass()
    row = stored(order)
    assert (row.process_state, row.locked_by, requested_steps(order)) == ("pending", None, set())
    assert row.not_before is not None and row.not_before > ahead(3_600)
    assert history(order, "paused") == [("paused", "mix")]  # once, however often a scheduler looks


def test_the_same_step_of_another_workflow_goes_on() -> None:
    pause(workflow="bake-bread")
    order = make_order(process_state="pending")
    tidy_pass()
    assert requested_steps(order) == {"mix", "heat-oven"}


@pytest.mark.parametrize("kind", ["waits for its agent", "waits for a retry", "is due"])
def test_an_order_that_was_on_its_way_to_the_step_is_held_back_and_then_let_go(kind: str) -> None:
    steps = {
        "waits for its agent": {"waiting_since": ago(60), "wanted_since": ago(60)},
        "waits for a retry": {"not_before": ago(1), "failure_count": 1},
        "is due": {},
    }
    order = make_order({"mix": steps[kind], "heat-oven": "completed"}, process_state="pending")
    paused = pause()
    tidy_pass()
    assert requested_steps(order) == set() and step_of(order, "mix").paused_since is not None
    paused.delete()
    tidy_pass()
    assert requested_steps(order) == {"mix"} and step_of(order, "mix").paused_since is None
    assert step_of(order, "mix").failure_count == (1 if kind == "waits for a retry" else 0)


def test_a_request_that_no_host_has_begun_is_held_back_by_the_hosts_and_taken_back_by_the_schedulers() -> (
    None
):
    """As one that a scheduler posts whose pass began before the pause."""
    order = make_order({"mix": "running", "heat-oven": "completed"}, **UNDER_WAY)
    make_request(step_of(order, "mix"))
    paused = pause()
    ids = list(AgentRequest.objects.values_list("pk", flat=True))
    assert claimed() == [] == leases.lease_if_free(ids, me="agents:b", seconds=10)
    tidy_pass()
    mix = step_of(order, "mix")
    assert (requested_steps(order), mix.state, mix.outcome, mix.failure_count) == (
        set(),
        "not_started",
        "none",
        0,
    )
    assert mix.paused_since is not None
    paused.delete()
    tidy_pass()
    assert requested_steps(order) == {"mix"} and claimed() == ["mix"]


def test_what_a_host_has_begun_is_finished_even_by_another_host() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, **UNDER_WAY)
    make_request(step_of(order, "mix"), deliveries=1)  # its host has died
    pause()
    tidy_pass()
    assert requested_steps(order) == {"mix"} and claimed() == ["mix"]
    AgentRequest.objects.all().delete()
    make_reply(step_of(order, "mix"), "done", {"did": "mix"})
    tidy_pass()
    assert states(order)["mix"] == "completed" and requested_steps(order) == {"bake"}


def test_a_claim_that_another_host_is_making_counts_as_begun() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, **UNDER_WAY)
    request = make_request(step_of(order, "mix"), leased_until=ahead(8), deliveries=1)
    pause()
    tidy_pass()
    assert AgentRequest.objects.filter(pk=request.pk).exists()


@pytest.mark.pattern("C7")
def test_a_cancellation_reverses_a_paused_step_all_the_same() -> None:
    pause()
    order = make_order(
        {"mix": "completed", "heat-oven": "completed", "bake": "failed"},
        process_state="pending",
        goal="compensate",
    )
    tidy_pass()
    assert "mix" in requested_steps(order) and "mix" in claimed()


def test_an_order_that_waits_at_a_paused_step_can_be_cancelled() -> None:
    pause()
    order = make_order({"heat-oven": "completed"}, process_state="pending")
    tidy_pass()
    OrderProcess.objects.update(goal="compensate", not_before=None)
    tidy_pass()
    assert requested_steps(order) == {"tell"}  # that it is cancelled
    assert step_of(order, "mix").paused_since is None


@pytest.mark.pattern("V2", "V3")
def test_the_supervisor_counts_nothing_while_the_step_is_paused_and_everything_of_the_others() -> None:
    fields = {"attempt": 3, "failure_count": 2}
    order = make_order({"mix": overdue(**fields), "heat-oven": "completed"}, **UNDER_WAY, failure_count=2)
    other = make_order({"mix": "completed", "heat-oven": overdue(**fields)}, **UNDER_WAY, failure_count=2)
    pause()
    OrderProcess.objects.filter(pk=order.pk).update(complete_by=ago(1))
    a_leader(threshold=3).run_once()
    row, mix = stored(order), step_of(order, "mix")
    assert (row.process_state, row.failure_count, row.overruns) == ("pending", 2, 0)
    assert (mix.state, mix.failure_count, alerts_of(order)) == ("not_started", 2, [])
    assert stored(other).process_state == "error"
    tidy_pass()
    assert requested_steps(order) == set()


def test_the_patience_of_a_step_is_not_counted_while_it_is_paused() -> None:
    paused = pause()
    waiting = {"waiting_since": ago(99_000), "wanted_since": ago(99_000)}
    order = make_order({"mix": waiting, "heat-oven": "completed"}, process_state="pending", not_before=ago(1))
    tidy_pass()
    assert step_of(order, "mix").state == "not_started"
    run("UPDATE orders_stepstate SET paused_since = paused_since - interval '9 days' WHERE name = 'mix'")
    paused.delete()
    tidy_pass()
    assert requested_steps(order) == {"mix"} and alerts_of(order) == []


def test_the_complete_by_of_an_order_under_way_moves_by_as_long_as_its_step_was_paused() -> None:
    order = make_order({"mix": {"paused_since": ago(300)}, "heat-oven": "running"}, **UNDER_WAY)
    make_request(step_of(order, "heat-oven"), leased_until=ahead(8), deliveries=1)
    OrderProcess.objects.update(not_before=ahead(3_600))
    before = stored(order).complete_by
    tidy_pass()
    after = stored(order).complete_by
    assert before is not None and after is not None and 299 < (after - before).total_seconds() < 330
    assert "mix" in requested_steps(order)


def test_a_pause_ends_by_itself() -> None:
    until = ahead(60)
    paused = pause(until=until)
    order = make_order({"heat-oven": "completed"}, process_state="pending")
    tidy_pass()
    assert stored(order).not_before == until and event_of(order, "paused").detail["until"]
    StepPause.objects.filter(pk=paused.pk).update(at=ago(60), until=ago(1))
    assert claimed() == []
    tidy_pass()
    assert requested_steps(order) == {"mix"} and claimed() == ["mix"]


def test_resumed_orders_are_let_go_a_batch_at_a_time_the_longest_wait_first() -> None:
    pause("bake")
    first = make_order({"mix": {"paused_since": ago(60)}}, process_state="pending", not_before=ahead(9_000))
    held = clones(first, 4)
    StepState.objects.filter(process_id=held[0], name="mix").update(paused_since=ago(90))
    still = make_order({"bake": {"paused_since": ago(99)}}, process_state="pending", not_before=ahead(9_000))
    own = make_order(
        {"mix": {"paused_since": ago(99)}}, process_state="pending", not_before=ahead(9_000), paused_at=ago(9)
    )
    assert state_store.release_held(1) == 1
    assert stored(held[0]).not_before <= ahead(0)  # type: ignore[operator]
    assert state_store.release_held(100) == 4
    assert state_store.release_held(100) == 0
    assert all(stored(order).not_before > ahead(60) for order in (still, own))  # type: ignore[operator]


def test_the_items_of_a_paused_step_are_held_back() -> None:
    paused = pause("dish", workflow="give-party")
    order = make_order({"invite": "running"}, workflow=PARTY, process_state="processing")
    make_purchase(order.pk, data={"dishes": ["soup", "cake"]})
    make_reply(step_of(order, "invite"), "done", {"guests": 2})
    drain(a_scheduler(workflows=PARTIES))
    assert requested_steps(order) == set()
    held = StepState.objects.filter(process=order, paused_since__isnull=False)
    assert set(held.values_list("name", flat=True)) == {"dish:1", "dish:2"}
    paused.delete()
    drain(a_scheduler(workflows=PARTIES))
    assert requested_steps(order) == {"dish:1", "dish:2"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("F33")
def test_a_request_of_a_pass_that_began_before_the_pause_is_taken_by_no_host(new_session: NewSession) -> None:
    order = make_order({"heat-oven": "completed"}, process_state="pending")
    scheduler, operator, host = new_session(), new_session(), new_session()
    scheduler.begin()
    scheduler.do(a_scheduler().run_once)
    operator.do(pause)
    scheduler.commit()
    assert requested_steps(order) == {"mix"}
    assert host.do(claimed) == []
    tidy_pass()
    assert (requested_steps(order), step_of(order, "mix").failure_count) == (set(), 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("F33")
def test_an_order_that_is_locked_when_its_step_is_resumed_is_let_go_later(new_session: NewSession) -> None:
    order = make_order({"mix": {"paused_since": ago(60)}}, process_state="pending", not_before=ahead(9_000))
    operator = new_session()
    operator.begin()
    operator.do(lambda: state_store.lock_one(order.pk))
    assert state_store.release_held(100) == 0
    operator.commit()
    assert state_store.release_held(100) == 1
