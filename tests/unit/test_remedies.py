"""What the supervisor decides about a step that has passed its complete-by time (V2–V4)."""

import pytest

from orders.engine.contracts import Step
from orders.engine.retry_rules import RetryRules
from orders.engine.rows import StepRow
from orders.engine.supervisor.remedies import Ruling, rule_on
from tests.support.workflows import CAKE
from tests.unit.rows import NOW, at, step_row

RULES = RetryRules(threshold=3, compensation_patience=2)


def rule(
    step: StepRow, *, goal: str = "complete", rules: RetryRules = RULES, declared: Step | None = None
) -> tuple[Ruling, StepRow]:
    """The ruling, with a backoff of ten seconds per failure."""
    return rule_on(
        step,
        declared or CAKE.by_name[step.name],
        goal=goal,
        rules=rules,
        now=NOW,
        jitter=lambda failures: 10.0 * failures,
    )


def overdue(name: str, **fields: object) -> StepRow:
    return step_row(name, {"state": "running", "complete_by": NOW, "attempt": 4, **fields})


def overdue_compensation(name: str, **fields: object) -> StepRow:
    return step_row(name, {"state": "compensating", "complete_by": NOW, "attempt": 4, **fields})


@pytest.mark.pattern("V2")
@pytest.mark.parametrize("failures", [0, 1])
def test_below_the_threshold_a_step_is_tried_again_after_its_backoff(failures: int) -> None:
    step = overdue("mix", failure_count=failures)
    assert rule(step) == (
        Ruling.RETRY,
        step._replace(
            state="not_started",
            complete_by=None,
            failure_count=failures + 1,
            not_before=at(10 * (failures + 1)),
        ),
    )


@pytest.mark.pattern("V2", "A7")
def test_a_retry_keeps_the_values_that_distinguish_a_late_reply_from_a_stale_one() -> None:
    """A reply that was posted in time but read late must still find its attempt, generation and outcome."""
    _, after = rule(overdue("mix", generation=2, answered=3))
    assert (after.attempt, after.answered, after.generation, after.outcome) == (4, 3, 2, "unknown")
    assert after.settles_at == at(35)


@pytest.mark.pattern("V3")
def test_at_the_threshold_a_step_fails_for_an_operator() -> None:
    step = overdue("mix", failure_count=2)
    assert rule(step) == (Ruling.FAIL, step._replace(state="failed", complete_by=None, failure_count=3))


@pytest.mark.pattern("V3")
def test_a_threshold_of_one_allows_no_second_try() -> None:
    assert rule(overdue("mix"), rules=RetryRules(threshold=1))[0] is Ruling.FAIL


@pytest.mark.pattern("V1", "V3")
def test_a_step_that_timed_out_for_good_has_an_unknown_outcome() -> None:
    assert rule(overdue("mix", failure_count=2))[1].outcome == "unknown"


@pytest.mark.pattern("V4")
@pytest.mark.parametrize("waits", [0, 1])
def test_at_the_threshold_a_step_may_be_given_an_extended_wait_instead(waits: int) -> None:
    step = overdue("decorate", failure_count=2 + waits, extended_waits=waits)
    assert rule(step) == (
        Ruling.WAIT,
        step._replace(
            state="not_started",
            complete_by=None,
            failure_count=3 + waits,
            extended_waits=waits + 1,
            not_before=at(120),
        ),
    )


@pytest.mark.pattern("V3", "V4")
def test_after_its_last_extended_wait_a_step_fails() -> None:
    ruling, after = rule(overdue("decorate", failure_count=4, extended_waits=2))
    assert (ruling, after.state, after.not_before) == (Ruling.FAIL, "failed", None)


@pytest.mark.pattern("V4")
def test_no_extended_wait_is_used_up_below_the_threshold() -> None:
    ruling, after = rule(overdue("decorate", failure_count=1))
    assert (ruling, after.extended_waits) == (Ruling.RETRY, 0)


@pytest.mark.pattern("V4")
def test_a_step_whose_remedy_is_to_compensate_asks_for_it_at_the_threshold() -> None:
    step = overdue("box", failure_count=2)
    assert rule(step) == (Ruling.COMPENSATE, step._replace(state="failed", complete_by=None, failure_count=3))


@pytest.mark.pattern("C10", "V2")
def test_a_forward_call_that_times_out_while_the_order_is_compensated_is_given_up_and_not_counted() -> None:
    step = overdue("mix", failure_count=2)
    assert rule(step, goal="compensate") == (
        Ruling.SETTLE,
        step._replace(state="not_started", complete_by=None),
    )


@pytest.mark.pattern("C10", "V2")
@pytest.mark.parametrize("failures", [0, 4])
def test_a_compensation_is_tried_again_and_counted_apart_from_the_step(failures: int) -> None:
    step = overdue_compensation("mix", failure_count=3, compensation_failure_count=failures)
    assert rule(step, goal="compensate") == (
        Ruling.RETRY,
        step._replace(
            complete_by=None, compensation_failure_count=failures + 1, not_before=at(10 * (failures + 1))
        ),
    )


@pytest.mark.pattern("C10", "V3")
def test_a_compensation_is_given_more_tries_than_a_step_and_then_fails() -> None:
    step = overdue_compensation("mix", compensation_failure_count=5)
    assert rule(step, goal="compensate") == (
        Ruling.FAIL,
        step._replace(state="failed", complete_by=None, compensation_failure_count=6),
    )


@pytest.mark.pattern("C10")
@pytest.mark.parametrize("outcome", ["done", "unknown"])
def test_a_compensation_that_failed_for_good_keeps_the_known_outcome(outcome: str) -> None:
    _, after = rule(
        overdue_compensation("mix", outcome=outcome, compensation_failure_count=5), goal="compensate"
    )
    assert (after.state, after.outcome) == ("failed", outcome)


@pytest.mark.pattern("C10", "V4")
def test_the_remedy_of_a_step_does_not_apply_to_its_compensation() -> None:
    ruling, _ = rule(overdue_compensation("decorate", compensation_failure_count=5), goal="compensate")
    assert ruling is Ruling.FAIL


# --- answers that come later


@pytest.mark.pattern("V2")
def test_a_question_that_timed_out_leaves_its_step_where_an_answer_finds_it() -> None:
    step = overdue("mix", answered=2, awaits_until=at(60))
    ruling, after = rule(step)
    assert (ruling, after.state, after.complete_by, after.not_before) == (
        Ruling.RETRY,
        "awaiting",
        at(60),
        at(10),
    )
    assert (after.failure_count, after.answered) == (1, 2)


@pytest.mark.pattern("V2")
def test_a_question_that_was_answered_leaves_its_step_to_be_tried_again() -> None:
    """It was handed back, which counts as a failure: no other answer to that attempt would count."""
    _, after = rule(overdue("mix", answered=4, awaits_until=at(60)))
    assert (after.state, after.complete_by) == ("not_started", None)


@pytest.mark.pattern("V2")
@pytest.mark.parametrize("until", [0.0, -5.0])
def test_once_its_time_is_over_a_step_no_longer_waits_for_its_answer(until: float) -> None:
    step = step_row("mix", {"state": "awaiting", "outcome": "unknown", "complete_by": NOW, "attempt": 2})
    ruling, after = rule(step._replace(awaits_until=at(until), waiting_since=at(-3)))
    assert (ruling, after.state, after.outcome, after.failure_count) == (
        Ruling.RETRY,
        "not_started",
        "unknown",
        1,
    )
    assert (after.complete_by, after.waiting_since) == (None, None)


@pytest.mark.pattern("V2", "C10")
def test_a_compensation_that_asks_again_is_parked_in_its_own_direction() -> None:
    _, after = rule(
        overdue_compensation("mix", awaits_until=at(60), compensation_sent_at=at(-9)), goal="compensate"
    )
    assert (after.state, after.compensation_failure_count, after.failure_count) == ("awaiting", 1, 0)
    _, later = rule(after._replace(awaits_until=NOW, complete_by=NOW), goal="compensate")
    assert (later.state, later.compensation_failure_count) == ("compensating", 2)
