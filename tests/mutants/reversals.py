"""What keeps a step that is reversed before an edit from being done twice (rule 5)."""

from tests.mutants.mutant import ENGINE, Mutant

TESTS = "tests/services/test_reversal_before_edit.py"

REVERSALS = (
    Mutant(
        name="a-late-answer-counts-after-an-edit",
        path=f"{ENGINE}/state_store/edits.py",
        old="answered = CASE WHEN s.next_request IS NULL THEN s.attempt ELSE s.answered END",
        new="answered = s.answered",
        test=f"{TESTS}::test_an_answer_that_comes_after_the_edit_changes_nothing",
    ),
    Mutant(
        name="done-anew-as-before",
        path=f"{ENGINE}/state_store/writes.py",
        old='_TAKES_NEXT = "v.generation > s.generation AND s.next_request IS NOT NULL"',
        new='_TAKES_NEXT = "false"',
        test=f"{TESTS}::test_the_shipment_is_reversed_as_it_was_asked_for_and_then_asked_for_anew",
    ),
    Mutant(
        name="done-anew-under-the-same-key",
        path=f"{ENGINE}/rows.py",
        old="generation=self.generation + 1,",
        new="generation=self.generation,",
        test=f"{TESTS}::test_the_shipment_is_reversed_as_it_was_asked_for_and_then_asked_for_anew",
    ),
    Mutant(
        name="done-anew-without-a-reversal",
        path=f"{ENGINE}/rows.py",
        old="return goal == Goal.COMPENSATE or self.is_reversed_first",
        new="return goal == Goal.COMPENSATE",
        test="tests/unit/test_order_machine.py",
    ),
    Mutant(
        name="reversed-after-its-key-was-forgotten",
        path=f"{ENGINE}/scheduler/dispatch.py",
        old="step.is_reversed_first\n        and goal == Goal.COMPLETE",
        new="False\n        and goal == Goal.COMPLETE",
        test="tests/unit/test_reversing.py"
        "::test_a_reversal_before_an_edit_is_not_sent_once_its_service_may_have_forgotten_the_call",
    ),
)
