"""The mutants of steps that wait: what keeps an answer from counting twice, too late, or for something else."""

from tests.mutants.mutant import ENGINE, Mutant

ANSWERS = "orders/services/answers.py"
TESTS = "tests/services/test_answers.py"

WAITS = (
    Mutant(
        name="answered-as-often-as-one-likes",
        path=ANSWERS,
        old="step._replace(complete_by=None, not_before=None)",
        new="step",
        test=f"{TESTS}::test_a_token_is_used_up_by_its_first_answer",
    ),
    Mutant(
        name="asked-again-after-the-answer",
        path=ANSWERS,
        old="step._replace(complete_by=None, not_before=None)",
        new="step._replace(complete_by=None)",
        test="tests/engine/test_later_answers.py::test_what_was_answered_is_not_asked_again_before_the_answer_is_read",
    ),
    Mutant(
        name="answered-after-its-time",
        path=ANSWERS,
        old="if step.complete_by <= database_now():",
        new="if False:",
        test=f"{TESTS}::test_a_late_callback_is_refused",
    ),
    Mutant(
        name="answered-for-another-generation",
        path=ANSWERS,
        old="if present != key or compensates != target.is_backward:",
        new="if compensates != target.is_backward:",
        test=f"{TESTS}::test_a_late_callback_is_refused",
    ),
    Mutant(
        name="a-compensation-answered-forward",
        path=ANSWERS,
        old="if present != key or compensates != target.is_backward:",
        new="if present != key:",
        test=f"{TESTS}::test_a_compensation_is_answered_with_a_token_of_its_own",
    ),
    Mutant(
        name="parking-answers-the-attempt",
        path=f"{ENGINE}/parking.py",
        old="        state=StepStatus.AWAITING,\n        complete_by=until,",
        new="        state=StepStatus.AWAITING,\n        answered=step.attempt,\n        complete_by=until,",
        test="tests/unit/test_order_pass_waits.py",
    ),
    Mutant(
        name="the-time-for-an-answer-renewed",
        path=f"{ENGINE}/parking.py",
        old='until = step.awaits_until or now + timedelta(seconds=pending["within"])',
        new='until = now + timedelta(seconds=pending["within"])',
        test="tests/unit/test_order_pass_waits.py",
    ),
    Mutant(
        name="a-default-overridden-later",
        path=f"{ENGINE}/parking.py",
        old="        outcome=Outcome.DONE,\n        answered=step.attempt,",
        new="        outcome=Outcome.DONE,",
        test="tests/engine/test_waits.py::test_an_answer_that_is_read_after_the_default_was_taken_changes_nothing",
    ),
    Mutant(
        name="waits-outlive-the-turn",
        path=f"{ENGINE}/scheduler/order_pass.py",
        old="            self._end_waits()\n",
        new="            pass\n",
        test="tests/unit/test_order_pass_waits.py",
    ),
    Mutant(
        name="parked-without-an-hour",
        path=f"{ENGINE}/parking.py",
        old="over = max(step.complete_by or now, now) + LEFT_TO_SUPERVISOR",
        new="over = step.complete_by or now",
        test="tests/unit/test_order_pass_waits.py",
    ),
)
