"""The mutants of declined steps: what their customer may change, and what her program is told."""

from tests.mutants.mutant import ENGINE, Mutant

ENGINE_TESTS = "tests/engine/test_declined_messages.py"
CORRECTIONS = "tests/services/test_corrections.py"
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
        path="orders/services/corrections.py",
        old="    if not names <= frozenset().union(*fields.values()):\n        return []\n",
        new="    names = frozenset()\n",
        test=f"{API_TESTS}::test_a_step_that_has_nothing_to_do_with_payments_is_not_tried_again",
    ),
    Mutant(
        name="another-total-than-she-agreed-to-is-taken",
        path="orders/services/corrections.py",
        old="return None if after == agreed else TotalChangedError",
        new="return None if after else TotalChangedError",
        test=f"{CORRECTIONS}::test_she_sees_the_new_total_before_and_another_one_is_refused",
    ),
    Mutant(
        name="a-reservation-for-another-total-stands",
        path="orders/business/renewals.py",
        old="declared.reserves_value and step.state == StepStatus.COMPLETED",
        new="False",
        test=f"{CORRECTIONS}::test_with_fewer_the_total_follows_and_the_old_reservation_is_reversed_before_a_new_one",
    ),
    Mutant(
        name="a-silent-card-is-not-reversed",
        path="orders/business/renewals.py",
        old="declared.reserves_value or declared.customer_resubmits",
        new="False",
        test=f"{CORRECTIONS}::test_another_card_is_asked_only_after_the_silent_one_has_been_reversed",
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
