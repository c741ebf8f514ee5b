"""The mutants of declined steps: what their customer may change, and what her program is told."""

from tests.mutants.mutant import ENGINE, Mutant

ENGINE_TESTS = "tests/engine/test_declined_messages.py"
API_TESTS = "tests/web/test_payment_api.py"
WAITS = "orders/selectors/order_waits.py"
WAITS_TESTS = "tests/unit/test_order_waits.py"

DECLINES = (
    Mutant(
        name="a-decline-is-told-of-what-is-compensated",
        path=f"{ENGINE}/scheduler/order_record.py",
        old="        if self.row.goal == Goal.COMPLETE:\n            body",
        new="        if True:\n            body",
        test=ENGINE_TESTS,
    ),
    Mutant(
        name="each-compensation-has-the-same-reason",
        path=f"{ENGINE}/scheduler/role.py",
        old='"reason": reasons[message.order_id]',
        new='"reason": next(iter(reasons.values()))',
        test=ENGINE_TESTS,
    ),
    Mutant(
        name="a-payment-retries-any-declined-step",
        path="orders/services/customers.py",
        old="return is_declined and fields <= customer_editable(row.workflow, row.version, step.name)",
        new="return is_declined",
        test=f"{API_TESTS}::test_a_step_that_has_nothing_to_do_with_payments_is_not_tried_again",
    ),
    Mutant(
        name="what-is-cancelled-waits-for-its-customer",
        path=WAITS,
        old="StepStatus.FAILED and is_forward and is_declined",
        new="StepStatus.FAILED and is_declined",
        test=WAITS_TESTS,
    ),
    Mutant(
        name="the-least-urgent-counts",
        path=WAITS,
        old="URGENCY[wait.kind]",
        new="-URGENCY[wait.kind]",
        test=WAITS_TESTS,
    ),
)
