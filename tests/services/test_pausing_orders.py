"""An operator pauses one order: nothing of it is started, and nothing that is under way is lost."""

from collections.abc import Callable
from typing import Any

import pytest

from orders.engine.runtime.sql import run
from orders.models import OrderProcess, StepState
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators.order_acts import compensate, resubmit, retry_now, skip
from orders.services.operators.pausing_orders import pause_order, resume_order
from tests.services.operated_orders import OLGA, audited
from tests.support.factories import ago, ahead, make_order, make_reply, make_request, step_of
from tests.support.overdue import overdue
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    drain,
    event_of,
    everything,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.two_sessions import Session, all_at_once
from tests.support.workflows import CAKE

NewSession = Callable[[], Session]
pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)

READY: dict[str, Any] = {"process_state": "pending"}
UNDER_WAY: dict[str, Any] = {"process_state": "processing"}


def pause(order: OrderProcess, **options: Any) -> ResultStatus:
    return pause_order(order_id=order.pk, actor=OLGA, reason="the address looks wrong", **options).status


def resume(order: OrderProcess) -> ResultStatus:
    return resume_order(order_id=order.pk, actor=OLGA).status


def pass_over() -> None:
    drain(a_scheduler())


def starts() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Orders that a scheduler would start a step of: their steps and their processes."""
    return {
        "new": ({}, READY),
        "waits for its agent": ({"mix": {"waiting_since": ago(60), "wanted_since": ago(60)}}, READY),
        "waits for a retry": ({"mix": {"not_before": ago(1), "failure_count": 1}}, {"not_before": ago(1)}),
        "half done": ({"mix": "completed", "heat-oven": "completed"}, READY),
        "retries later": (
            {"mix": "completed", "heat-oven": {"not_before": ahead(60)}},
            {"not_before": ahead(60)},
        ),
    }


@pytest.mark.parametrize(
    "kind", ["new", "waits for its agent", "waits for a retry", "half done", "retries later"]
)
@pytest.mark.pattern("C1")
def test_a_paused_order_starts_nothing_until_it_is_resumed(kind: str) -> None:
    steps, process = starts()[kind]
    order = make_order(steps, **process)
    before = states(order)
    assert pause(order) is ResultStatus.DONE
    all_due(order)
    pass_over()
    a_leader().run_once()
    assert (states(order), requested_steps(order)) == (before, set())
    row = stored(order)
    assert row.process_state == "pending" and row.not_before is not None and row.not_before > ahead(3_600)
    assert resume(order) is ResultStatus.DONE
    pass_over()
    assert requested_steps(order)
    assert "running" in states(order).values()


def test_a_pause_ends_by_itself_and_the_history_says_so() -> None:
    order = make_order(**READY)
    assert pause(order, until=ahead(60)) is ResultStatus.DONE
    pass_over()
    assert requested_steps(order) == set()
    assert stored(order).not_before == stored(order).paused_until
    OrderProcess.objects.update(paused_at=ago(60), paused_until=ago(1), not_before=ago(1))
    pass_over()
    assert requested_steps(order) == {"mix", "heat-oven"}
    assert stored(order).paused_at is None
    assert [kind for kind, _ in history(order, "paused", "resumed")] == ["paused", "resumed"]
    assert event_of(order, "resumed").actor_kind == "scheduler"


@pytest.mark.pattern("C6")
def test_a_call_under_way_is_finished_and_its_answer_recorded() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, **UNDER_WAY)
    pause(order)
    pass_over()
    assert states(order)["mix"] == "running"
    make_reply(step_of(order, "mix"), "done", {"did": "mix"})
    pass_over()
    assert states(order) == {"mix": "completed", "heat-oven": "completed"}
    assert requested_steps(order) == set()
    assert (stored(order).process_state, stored(order).locked_by) == ("pending", None)
    resume(order)
    pass_over()
    assert requested_steps(order) == {"bake"}


def test_a_request_that_no_host_has_begun_is_taken_back_at_once() -> None:
    order = make_order({"mix": "running", "heat-oven": "running"}, **UNDER_WAY)
    make_request(step_of(order, "mix"))
    make_request(step_of(order, "heat-oven"), leased_until=ahead(8), deliveries=1)
    pause(order)
    assert requested_steps(order) == {"heat-oven"}
    pass_over()
    assert states(order) == {"heat-oven": "running"}
    mix = step_of(order, "mix")
    assert (mix.outcome, mix.failure_count, mix.wanted_since) == ("none", 0, None)
    resume(order)
    pass_over()
    assert requested_steps(order) == {"mix", "heat-oven"}


@pytest.mark.pattern("V2", "V3")
def test_the_supervisor_counts_nothing_of_a_paused_order_and_raises_no_alert() -> None:
    order = make_order(
        {"mix": overdue(attempt=3, failure_count=2), "heat-oven": "completed"},
        **UNDER_WAY,
        failure_count=2,
    )
    pause(order)
    OrderProcess.objects.update(complete_by=ago(1))
    a_leader(threshold=3).run_once()
    row, mix = stored(order), step_of(order, "mix")
    assert (row.process_state, row.failure_count, row.overruns) == ("pending", 2, 0)
    assert (mix.state, mix.failure_count, alerts_of(order)) == ("not_started", 2, [])
    pass_over()
    assert (requested_steps(order), step_of(order, "mix").wanted_since) == (set(), None)


def test_an_order_that_overran_while_it_was_paused_is_not_found_again_and_again() -> None:
    order = make_order({"mix": "running"}, **UNDER_WAY)
    pause(order)
    OrderProcess.objects.update(complete_by=ago(1))
    leader = a_leader()
    assert leader.run_once().done["found"] == 1
    assert leader.run_once().done["found"] == 0
    assert stored(order).overruns == 0


def test_the_complete_by_of_an_order_under_way_moves_by_as_long_as_it_was_paused() -> None:
    order = make_order({"mix": "running"}, **UNDER_WAY)
    pause(order)
    OrderProcess.objects.update(paused_at=ago(300))
    before = stored(order).complete_by
    resume(order)
    after = stored(order).complete_by
    assert before is not None and after is not None and 299 < (after - before).total_seconds() < 330


def test_the_last_answer_ends_the_order_and_its_pause() -> None:
    done = dict.fromkeys((step.name for step in CAKE.steps), "completed") | {"tell": "running"}
    order = make_order(done, **UNDER_WAY)
    pause(order)
    make_reply(step_of(order, "tell"))
    pass_over()
    assert (stored(order).process_state, stored(order).paused_at) == ("processed", None)


@pytest.mark.pattern("C10")
@pytest.mark.parametrize("process", [READY, UNDER_WAY, {"process_state": "error"}])
def test_cancelling_a_paused_order_ends_the_pause_and_compensates_it(process: dict[str, Any]) -> None:
    mix = "running" if process is UNDER_WAY else "completed"
    order = make_order({"mix": mix, "heat-oven": "completed"}, **process)
    pause(order)
    assert compensate(order_id=order.pk, actor=OLGA, reason="she asked").status is ResultStatus.DONE
    assert (stored(order).paused_at, stored(order).goal) == (None, "compensate")
    if mix == "running":
        make_reply(step_of(order, "mix"))
    pass_over()
    assert requested_steps(order) != set()
    for _ in range(4):
        answer(order=order)
        pass_over()
    assert stored(order).process_state == "compensated"


@pytest.mark.parametrize("process_state", ["processed", "compensated"])
def test_an_order_that_has_ended_is_not_paused(process_state: str) -> None:
    goal = "compensate" if process_state == "compensated" else "complete"
    order = make_order(process_state=process_state, goal=goal)
    before = everything(order)
    assert (pause(order), everything(order)) == (ResultStatus.REFUSED, before)
    assert resume(order) is ResultStatus.ALREADY


def test_a_cancellation_is_not_paused() -> None:
    order = make_order({"mix": "compensating"}, goal="compensate", **UNDER_WAY)
    before = everything(order)
    assert (pause(order), everything(order)) == (ResultStatus.REFUSED, before)


def test_a_pause_needs_a_reason_and_an_end_that_is_to_come() -> None:
    order = make_order(**READY)
    for options in ({"reason": " "}, {"reason": "r", "until": ago(1)}):
        result = pause_order(order_id=order.pk, actor=OLGA, **options)  # type: ignore[arg-type]
        assert result.status is ResultStatus.REFUSED
    assert stored(order).paused_at is None
    assert len(audited(order)) == 2


def test_an_order_in_error_stays_paused_when_it_is_resubmitted() -> None:
    failed = {"state": "failed", "outcome": "unknown"}
    order = make_order({"mix": failed, "heat-oven": "completed"}, process_state="error")
    pause(order)
    assert retry_now(order_id=order.pk, actor=OLGA).status is ResultStatus.REFUSED
    assert resubmit(order_id=order.pk, actor=OLGA).status is ResultStatus.DONE
    pass_over()
    assert (stored(order).process_state, requested_steps(order)) == ("pending", set())
    resume(order)
    pass_over()
    assert requested_steps(order) == {"mix"}


def test_a_long_pause_uses_up_no_patience() -> None:
    order = make_order({"mix": {"waiting_since": ago(60), "wanted_since": ago(60)}}, **READY)
    make_request(step_of(order, "heat-oven"))
    pause(order)
    run("UPDATE orders_stepstate SET wanted_since = wanted_since - interval '9 days'")
    resume(order)
    pass_over()
    assert states(order) == {"mix": "running", "heat-oven": "running"}


@both_sessions
@pytest.mark.pattern("F33")
def test_of_two_operators_who_pause_at_once_one_does() -> None:
    order = make_order(**READY)

    def do(n: int) -> str:
        actor = Actor(name=f"olga{n}")
        return pause_order(order_id=order.pk, actor=actor, reason="r").status.value

    assert sorted(all_at_once(4, do)) == ["already", "already", "already", "done"]
    assert history(order) == [("paused", "")]


@both_sessions
def test_a_pause_waits_for_the_scheduler_that_starts_a_step_and_takes_its_request_back(
    new_session: NewSession,
) -> None:
    order = make_order(**READY)
    scheduler, operator = new_session(), new_session()
    scheduler.begin()
    scheduler.do(a_scheduler().run_once)
    pausing = operator.start(lambda: pause(order))
    operator.await_wait()
    scheduler.commit()
    assert pausing.result(timeout=60) is ResultStatus.DONE
    assert requested_steps(order) == set()
    pass_over()
    assert states(order) == {}
    assert not StepState.objects.exclude(failure_count=0).exists()


@both_sessions
@pytest.mark.parametrize("first", ["pause", "cancel"])
def test_whichever_comes_first_a_cancelled_order_is_not_paused(first: str, new_session: NewSession) -> None:
    order = make_order({"mix": "completed"}, **READY)
    acts: dict[str, Callable[[], ResultStatus]] = {
        "pause": lambda: pause(order),
        "cancel": lambda: compensate(order_id=order.pk, actor=OLGA, reason="r").status,
    }
    (second,) = acts.keys() - {first}
    earlier, later = new_session(), new_session()
    earlier.begin()
    assert earlier.do(acts[first]) is ResultStatus.DONE
    waiting = later.start(acts[second])
    later.await_wait()
    earlier.commit()
    expected = ResultStatus.REFUSED if second == "pause" else ResultStatus.DONE
    assert waiting.result(timeout=60) is expected
    assert (stored(order).goal, stored(order).paused_at) == ("compensate", None)


@both_sessions
def test_a_scheduler_that_claims_while_an_order_is_resumed_finds_it_afterwards(
    new_session: NewSession,
) -> None:
    order = make_order(**READY)
    pause(order)
    operator, scheduler = new_session(), new_session()
    operator.begin()
    operator.do(lambda: resume(order))
    scheduler.do(a_scheduler().run_once)
    assert requested_steps(order) == set()
    operator.commit()
    scheduler.do(a_scheduler().run_once)
    assert requested_steps(order) == {"mix", "heat-oven"}


def test_what_is_done_to_a_step_of_a_paused_order_does_not_say_that_the_order_continues() -> None:
    order = make_order(**READY)
    pause(order)
    result = skip(order_id=order.pk, step="heat-oven", actor=OLGA, reason="the oven is hot")
    assert result.message == "Skipped heat-oven. The order is paused, and continues once it is resumed."
    resume(order)
    result = skip(order_id=order.pk, step="decorate", actor=OLGA, reason="no icing")
    assert result.message == "Skipped decorate. The order continues."
