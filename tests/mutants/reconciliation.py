"""The guards that keep reconcile from false alarms."""

from tests.mutants.mutant import Mutant

CHECK = "orders/reconciliation/check.py"
TESTS = "tests/services/test_reconciling.py"

RECONCILIATION = (
    Mutant(
        name="no-second-look-at-a-page-of-effects",
        path=CHECK,
        old="again = _entries(self._asker.list_effects(since=self._since, after=after))",
        new="again = entries",
        test=f"{TESTS}::test_an_effect_that_is_cancelled_while_its_step_is_settled_is_no_discrepancy",
    ),
    Mutant(
        name="no-second-look-at-a-completed-step",
        path=CHECK,
        old="and is_still_completed(orders.get(step.order_id, {}).get(step.name), step.generation)",
        new="",
        test=f"{TESTS}::test_a_compensation_that_comes_through_meanwhile_is_no_discrepancy",
    ),
)
