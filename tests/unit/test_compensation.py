"""What an order needs next during its compensation: which steps, in which order, after which waits (C10)."""

from dataclasses import replace

import pytest

from orders.engine.contracts import Compensation, Workflow
from orders.engine.errors import WorkflowError
from orders.engine.rows import StepRow
from orders.engine.scheduler.compensation import is_settled, next_compensation_moves
from orders.engine.scheduler.progress import Decision, Moves
from tests.support.workflows import CAKE
from tests.unit.rows import NOW, at, chain, step_row, step_rows

ALL = [step.name for step in CAKE.steps]
DONE = dict.fromkeys(ALL, "completed")

pytestmark = pytest.mark.pattern("C10")


def names(moves: Moves) -> list[str]:
    return sorted(row.name for row, _ in moves.start)


def rounds(workflow: Workflow, steps: list[StepRow]) -> list[list[str]]:
    """The steps that are compensated together, round by round, if each compensation succeeds."""
    waves = []
    while (moves := next_compensation_moves(workflow, steps, NOW)).decision is Decision.CONTINUE:
        waves.append(names(moves))
        steps = [step._replace(state="compensated") if step.name in waves[-1] else step for step in steps]
        assert len(waves) <= len(steps)
    assert moves == Moves(decision=Decision.FINISH)
    return waves


def test_a_whole_order_is_compensated_in_reverse_and_its_notice_is_sent_last() -> None:
    assert rounds(CAKE, step_rows(DONE)) == [["deliver"], ["box", "decorate"], ["bake"], ["mix"], ["tell"]]


def test_only_completed_steps_are_compensated() -> None:
    states = {"mix": "completed", "heat-oven": "completed"}
    assert rounds(CAKE, step_rows(states)) == [["mix"], ["tell"]]


def test_a_notice_is_sent_even_if_no_step_ever_ran() -> None:
    assert rounds(CAKE, step_rows()) == [["tell"]]


def test_an_order_with_nothing_to_compensate_and_no_notice_to_send_is_finished() -> None:
    workflow = chain("first", "second")
    assert next_compensation_moves(workflow, step_rows({}, workflow), NOW) == Moves(decision=Decision.FINISH)


def test_a_step_that_the_remote_refused_has_nothing_to_compensate() -> None:
    states = {"mix": "completed", "heat-oven": "completed", "bake": "failed"}
    assert rounds(CAKE, step_rows(states)) == [["mix"], ["tell"]]


def test_a_skipped_step_that_was_never_requested_has_nothing_to_compensate() -> None:
    workflow = chain("first", "second")
    assert rounds(workflow, step_rows({"first": "completed", "second": "skipped"}, workflow)) == [["first"]]


def test_a_step_without_an_effect_does_not_break_the_reverse_order() -> None:
    first, second, third = chain("first", "second", "third").steps
    workflow = Workflow(
        name="chain", version=1, steps=(first, replace(second, compensation=Compensation.NONE), third)
    )
    done = step_rows(dict.fromkeys(("first", "second", "third"), "completed"), workflow)
    assert rounds(workflow, done) == [["third"], ["first"]]


@pytest.mark.parametrize("state", ["completed", "failed", "not_started", "skipped"])
def test_a_step_without_an_effect_is_never_compensated(state: str) -> None:
    assert is_settled(
        step_row("heat-oven", {"state": state, "outcome": "unknown"}), CAKE.by_name["heat-oven"]
    )


@pytest.mark.parametrize("running", ["bake", "heat-oven", "tell"])
def test_a_forward_call_under_way_is_awaited(running: str) -> None:
    """Even if its step has nothing to compensate: the order has not ended while one of its calls runs."""
    workflow_states = {"mix": "completed", running: "running"}
    moves = next_compensation_moves(CAKE, step_rows(workflow_states), NOW)
    assert moves.decision is Decision.CONTINUE
    assert moves.in_flight
    assert running not in names(moves)


def test_nothing_is_compensated_before_a_forward_call_that_depends_on_it_has_ended() -> None:
    moves = next_compensation_moves(CAKE, step_rows({"mix": "completed", "bake": "running"}), NOW)
    assert moves == Moves(decision=Decision.CONTINUE, start=[], in_flight=True)


def test_steps_that_no_running_step_depends_on_are_compensated_meanwhile() -> None:
    states = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
    moves = next_compensation_moves(
        CAKE, step_rows(states | {"decorate": "completed", "box": "running"}), NOW
    )
    assert (names(moves), moves.in_flight) == (["decorate"], True)


def test_no_notice_is_sent_before_everything_is_compensated() -> None:
    moves = next_compensation_moves(CAKE, step_rows({"mix": "compensating"}), NOW)
    assert (names(moves), moves.in_flight) == ([], True)


@pytest.mark.parametrize("state", ["not_started", "failed"])
def test_a_call_whose_outcome_is_unknown_is_given_its_settle_time_first(state: str) -> None:
    unknown = {"state": state, "attempt": 1, "outcome": "unknown", "settles_at": at(3)}
    moves = next_compensation_moves(CAKE, step_rows({"mix": unknown}), NOW)
    assert moves == Moves(decision=Decision.CONTINUE, start=[], in_flight=False, wake_at=at(3))


@pytest.mark.parametrize("state", ["not_started", "failed"])
def test_a_call_whose_outcome_is_unknown_is_compensated_once_it_can_no_longer_take_effect(state: str) -> None:
    unknown = {"state": state, "attempt": 1, "outcome": "unknown", "settles_at": NOW}
    assert names(next_compensation_moves(CAKE, step_rows({"mix": unknown}), NOW)) == ["mix"]


def test_the_wait_before_a_retry_forward_does_not_delay_the_compensation() -> None:
    unknown = {"attempt": 1, "outcome": "unknown", "settles_at": NOW, "not_before": at(60)}
    assert names(next_compensation_moves(CAKE, step_rows({"mix": unknown}), NOW)) == ["mix"]


def test_a_completed_step_is_compensated_without_any_wait() -> None:
    states = {"mix": {"state": "completed", "settles_at": at(30)}}
    assert names(next_compensation_moves(CAKE, step_rows(states), NOW)) == ["mix"]


def test_a_compensation_under_way_is_not_sent_again() -> None:
    moves = next_compensation_moves(CAKE, step_rows({"mix": "compensating"}), NOW)
    assert moves == Moves(decision=Decision.CONTINUE, start=[], in_flight=True)


def test_a_compensation_that_timed_out_is_sent_again_after_its_backoff() -> None:
    timed_out = {"state": "compensating", "complete_by": None, "not_before": at(4)}
    steps = step_rows({"mix": timed_out})
    assert next_compensation_moves(CAKE, steps, NOW) == Moves(
        decision=Decision.CONTINUE, start=[], wake_at=at(4)
    )
    assert names(next_compensation_moves(CAKE, steps, at(4))) == ["mix"]


def test_earlier_steps_wait_for_a_compensation_that_is_to_be_sent_again() -> None:
    timed_out = {"state": "compensating", "complete_by": None, "not_before": at(4)}
    moves = next_compensation_moves(CAKE, step_rows({"mix": "completed", "bake": timed_out}), NOW)
    assert (names(moves), moves.wake_at) == ([], at(4))


@pytest.mark.pattern("O2")
def test_a_resubmitted_compensation_still_waits_until_the_forward_call_can_no_longer_take_effect() -> None:
    """The operator resubmits before the settle time is over (rule 8)."""
    resubmitted = {
        "state": "compensating",
        "complete_by": None,
        "attempt": 1,
        "outcome": "unknown",
        "settles_at": at(3),
    }
    moves = next_compensation_moves(CAKE, step_rows({"mix": resubmitted}), NOW)
    assert moves == Moves(decision=Decision.CONTINUE, start=[], in_flight=False, wake_at=at(3))


def test_a_notice_is_sent_once() -> None:
    assert next_compensation_moves(CAKE, step_rows({"tell": "compensated"}), NOW) == Moves(
        decision=Decision.FINISH
    )


def test_a_confirmation_that_was_sent_is_followed_by_a_notice() -> None:
    assert names(next_compensation_moves(CAKE, step_rows({"tell": "completed"}), NOW)) == ["tell"]


def test_stored_steps_that_do_not_match_the_workflow_are_an_error() -> None:
    with pytest.raises(WorkflowError, match="are not those of bake-cake v3"):
        next_compensation_moves(CAKE, step_rows()[1:], NOW)
