"""What an order needs next, forward: the right order of the steps, waits, failures, and which replies count."""

import pytest

from orders.engine.errors import WorkflowError
from orders.engine.scheduler.progress import Decision, Moves, answers, next_moves
from tests.support.workflows import CAKE
from tests.unit.rows import NOW, at, reply_to, step_row, step_rows

BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
ALL = [step.name for step in CAKE.steps]


def names(moves: Moves) -> list[str]:
    return [row.name for row, _ in moves.start]


@pytest.mark.pattern("C1", "C4")
def test_a_new_order_starts_every_step_that_depends_on_nothing() -> None:
    moves = next_moves(CAKE, step_rows(), NOW)
    assert names(moves) == ["mix", "heat-oven"]
    assert (moves.decision, moves.in_flight, moves.wake_at) == (Decision.CONTINUE, False, None)


@pytest.mark.pattern("C1")
def test_a_step_comes_with_its_declaration() -> None:
    assert [declared for _, declared in next_moves(CAKE, step_rows(), NOW).start] == list(CAKE.steps[:2])


@pytest.mark.pattern("C1", "C4")
@pytest.mark.parametrize("other", ["not_started", "running"])
def test_a_step_does_not_start_while_a_step_it_depends_on_is_unfinished(other: str) -> None:
    moves = next_moves(CAKE, step_rows({"mix": "completed", "heat-oven": other}), NOW)
    assert "bake" not in names(moves)
    assert moves.in_flight == (other == "running")


@pytest.mark.pattern("C1", "C6")
def test_a_step_starts_when_the_last_step_it_depends_on_is_finished() -> None:
    assert names(next_moves(CAKE, step_rows({"mix": "completed", "heat-oven": "completed"}), NOW)) == ["bake"]


@pytest.mark.pattern("C4")
def test_independent_steps_are_started_together() -> None:
    assert names(next_moves(CAKE, step_rows(BAKED), NOW)) == ["decorate", "box"]


@pytest.mark.pattern("C4")
def test_an_independent_step_does_not_wait_for_a_running_step() -> None:
    moves = next_moves(CAKE, step_rows(BAKED | {"decorate": "running"}), NOW)
    assert names(moves) == ["box"]


@pytest.mark.pattern("C1")
def test_a_skipped_step_counts_as_finished() -> None:
    states = BAKED | {"decorate": "skipped", "box": "completed"}
    assert names(next_moves(CAKE, step_rows(states), NOW)) == ["deliver"]


@pytest.mark.pattern("C6")
def test_an_order_is_finished_after_its_last_step() -> None:
    states = dict.fromkeys(ALL, "completed") | {"decorate": "skipped"}
    assert next_moves(CAKE, step_rows(states), NOW) == Moves(decision=Decision.FINISH)


def test_an_order_whose_last_step_runs_is_not_finished() -> None:
    states = dict.fromkeys(ALL, "completed") | {"tell": "running"}
    assert next_moves(CAKE, step_rows(states), NOW) == Moves(
        decision=Decision.CONTINUE, start=[], in_flight=True
    )


@pytest.mark.pattern("V4")
def test_a_step_that_waits_is_not_started_and_says_until_when() -> None:
    states = BAKED | {"decorate": {"not_before": at(60)}, "box": {"not_before": at(20)}}
    moves = next_moves(CAKE, step_rows(states), NOW)
    assert (names(moves), moves.in_flight, moves.wake_at) == ([], False, at(20))


@pytest.mark.parametrize("due", [0, -1])
def test_a_step_whose_wait_is_over_is_started(due: float) -> None:
    moves = next_moves(CAKE, step_rows(BAKED | {"decorate": {"not_before": at(due)}}), NOW)
    assert names(moves) == ["decorate", "box"]
    assert moves.wake_at is None


def test_a_wait_does_not_end_a_moment_too_early() -> None:
    moves = next_moves(CAKE, step_rows(BAKED | {"decorate": {"not_before": at(0.001)}}), NOW)
    assert (names(moves), moves.wake_at) == (["box"], at(0.001))


def test_the_wait_of_a_step_that_is_not_ready_wakes_nobody() -> None:
    moves = next_moves(CAKE, step_rows({"mix": "running", "bake": {"not_before": at(60)}}), NOW)
    assert (names(moves), moves.wake_at) == (["heat-oven"], None)


@pytest.mark.pattern("C7")
def test_a_failed_step_fails_the_order_and_starts_nothing_more() -> None:
    moves = next_moves(CAKE, step_rows({"mix": "failed"}), NOW)
    assert moves == Moves(decision=Decision.FAIL, in_flight=False)


@pytest.mark.pattern("C7")
def test_a_failed_step_fails_the_order_even_while_another_step_runs() -> None:
    moves = next_moves(CAKE, step_rows(BAKED | {"decorate": "failed", "box": "running"}), NOW)
    assert moves == Moves(decision=Decision.FAIL, in_flight=True)


def test_a_declined_step_waits_for_the_customer_while_the_others_go_on() -> None:
    states = {"mix": {"state": "failed", "not_before": at(60)}}
    moves = next_moves(CAKE, step_rows(states), NOW)
    assert (moves.decision, names(moves), moves.wake_at) == (Decision.CONTINUE, ["heat-oven"], at(60))


@pytest.mark.pattern("V4", "C10")
@pytest.mark.parametrize("other", ["not_started", "running", "completed"])
def test_a_declined_step_that_the_customer_does_not_fix_compensates_the_order(other: str) -> None:
    states = {"mix": {"state": "failed", "not_before": NOW}, "heat-oven": other}
    assert next_moves(CAKE, step_rows(states), NOW) == Moves(decision=Decision.COMPENSATE)


@pytest.mark.parametrize("lost", ["tell", "mix"])
def test_stored_steps_that_do_not_match_the_workflow_are_an_error(lost: str) -> None:
    with pytest.raises(WorkflowError, match="are not those of bake-cake v3"):
        next_moves(CAKE, [row for row in step_rows() if row.name != lost], NOW)


def test_a_stored_step_that_the_workflow_does_not_have_is_an_error() -> None:
    with pytest.raises(WorkflowError, match="'taste'"):
        next_moves(CAKE, [*step_rows(), step_row("mix")._replace(name="taste")], NOW)


@pytest.mark.pattern("C6")
@pytest.mark.parametrize("state", ["running", "not_started", "failed", "compensating"])
def test_a_reply_to_the_last_attempt_counts_whatever_the_state_of_the_step(state: str) -> None:
    """Even after the supervisor gave up on the step: the reply was posted in time, and only read late (rule 4)."""
    step = step_row("mix", {"state": state, "attempt": 2, "answered": 1})
    assert answers(reply_to(step), step)


@pytest.mark.pattern("A7")
@pytest.mark.parametrize("attempt", [1, 3])
def test_a_reply_to_another_attempt_does_not_count(attempt: int) -> None:
    step = step_row("mix", {"state": "running", "attempt": 2})
    assert not answers(reply_to(step, attempt=attempt), step)


@pytest.mark.pattern("A7")
def test_a_second_reply_to_one_attempt_does_not_count() -> None:
    step = step_row("mix", {"state": "failed", "attempt": 2, "answered": 2})
    assert not answers(reply_to(step), step)
