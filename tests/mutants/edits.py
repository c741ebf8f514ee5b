"""The mutants of edits of an order: which steps follow, what money allows, and who has seen what."""

from tests.mutants.mutant import ENGINE, Mutant

PLAN = "orders/business/order_edits.py"
SERVICE = "orders/services/operators/order_editing.py"
TESTS = "tests/services/test_order_editing.py"
TO_BE_DONE = "return step.state in OPEN and step.outcome not in HAS_BEGUN"
TOO_LATE = f"{TESTS}::test_a_step_that_has_begun_keeps_what_it_asked_for_and_that_is_said"

EDITS = (
    Mutant(
        name="an-edit-reaches-a-step-that-is-done",
        path=PLAN,
        old=TO_BE_DONE,
        new='return step.state == "completed" or (step.state in OPEN and step.outcome not in HAS_BEGUN)',
        test=TOO_LATE,
    ),
    Mutant(
        name="an-edit-reaches-a-step-under-way",
        path=PLAN,
        old=TO_BE_DONE,
        new='return step.state == "running" or (step.state in OPEN and step.outcome not in HAS_BEGUN)',
        test=TOO_LATE,
    ),
    Mutant(
        name="an-edit-reaches-a-step-of-unknown-outcome",
        path=PLAN,
        old=TO_BE_DONE,
        new="return step.state in OPEN",
        test=TOO_LATE,
    ),
    Mutant(
        name="requests-are-rewritten-whatever-was-done",
        path=f"{ENGINE}/state_store/edits.py",
        old="AND s.state IN ('not_started', 'failed') AND s.outcome IN ('none', 'refused')",
        new="",
        test="tests/store/test_edits.py",
    ),
    Mutant(
        name="edits-are-not-compared-with-what-was-seen",
        path=SERVICE,
        old="if edit.fields and any(order.data.get(name) != value for name, value in seen.items()):",
        new="if False:",
        test=TESTS,
    ),
    Mutant(
        name="an-edit-changes-the-value-after-the-payment",
        path=PLAN,
        old="        if before != after:\n            raise",
        new="        if False:\n            raise",
        test=f"{TESTS}::test_an_edit_changes_the_value_only_before_money_is_taken",
    ),
    Mutant(
        name="an-edit-changes-the-card-after-the-payment",
        path=PLAN,
        old="        if declared.name in staying:\n",
        new="        if False:\n",
        test=f"{TESTS}::test_money_that_was_reserved_keeps_its_card",
    ),
    Mutant(
        name="a-customers-other-card-is-not-in-the-data",
        path="orders/services/corrections.py",
        old="        write(row.order_id, steps, edit)\n    elif changes:",
        new="        pass\n    elif changes:",
        test=TESTS,
    ),
    Mutant(
        name="what-an-edit-replaced-is-not-erased",
        path="orders/services/operators/erasing_orders.py",
        old="WHERE kind = 'edited' AND order_id",
        new="WHERE kind = 'no such' AND order_id",
        test="tests/services/test_erasing_edits.py",
    ),
)
