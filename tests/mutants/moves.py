"""The mutants of moves to a later version: what keeps an order from losing an effect, or from having it twice."""

from tests.mutants.mutant import ENGINE, Mutant

PLAN = f"{ENGINE}/moving.py"
TESTS = "tests/unit/test_moving.py"

MOVES = (
    Mutant(
        name="moved-while-a-call-is-under-way",
        path=PLAN,
        old="elif step.state in UNDER_WAY or (step.complete_by is not None and step.state != StepStatus.AWAITING):",
        new="elif False:",
        test=f"{TESTS}::test_an_order_stays_on_its_version_and_says_why",
    ),
    Mutant(
        name="what-may-have-happened-is-dropped",
        path=PLAN,
        old="HAS_BEGUN = (Outcome.DONE.value, Outcome.UNKNOWN.value)",
        new="HAS_BEGUN = (Outcome.DONE.value,)",
        test=f"{TESTS}::test_whatever_its_steps_are_what_may_have_happened_is_never_lost_or_done_again",
    ),
    Mutant(
        name="what-has-happened-changes-its-key",
        path=PLAN,
        old="if target != step and not is_wait:",
        new="if False:",
        test=f"{TESTS}::test_a_step_that_has_begun_keeps_its_name_although_nothing_else_would_change",
    ),
    Mutant(
        name="moved-into-the-wrong-order",
        path=PLAN,
        old="if earlier not in rows or rows[earlier].state not in FINISHED:",
        new="if False:",
        test=f"{TESTS}::test_what_comes_before_a_step_that_has_begun_must_be_finished",
    ),
    Mutant(
        name="moved-without-a-lock",
        path=f"{ENGINE}/state_store/moves.py",
        old='"FOR NO KEY UPDATE SKIP LOCKED"',
        new='""',
        test="tests/services/test_moving_races.py::test_an_order_that_a_scheduler_has_claimed_is_left_for_another_time",
    ),
    Mutant(
        name="moved-from-another-definition",
        path="orders/services/operators/moving.py",
        old='if candidate.fingerprint not in (journey.old.fingerprint, ""):',
        new="if False:",
        test="tests/services/test_moving.py::test_an_order_that_started_with_another_definition_stays",
    ),
)
