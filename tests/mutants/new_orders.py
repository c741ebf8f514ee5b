"""The mutants of orders that are placed together: each is its own client's, and counted, and Django has the rest."""

from tests.mutants.mutant import Mutant

ORDERS = "orders/api/new_orders.py"
TOKENS = "orders/models/access.py"
TOGETHER = "orders/api/together.py"
TESTS = "tests/web/test_new_orders.py"

NEW_ORDERS = (
    Mutant(
        name="an-order-for-a-closed-account",
        path=TOKENS,
        old="account.is_active AND ",
        new="",
        test=f"{TESTS}::test_a_token_that_is_not_valid_goes_to_django_at_once",
    ),
    Mutant(
        name="an-order-with-a-token-that-has-expired",
        path=TOKENS,
        old=" AND token.expires_at > %(now)s::timestamptz",
        new=" AND %(now)s::timestamptz IS NOT NULL",
        test=f"{TESTS}::test_a_token_that_is_not_valid_goes_to_django_at_once",
    ),
    Mutant(
        name="an-order-with-a-token-that-only-reads",
        path=ORDERS,
        old="needed = {TokenScope.ORDERS, scope_needed(order) or TokenScope.ORDERS}",
        new="needed = {scope_needed(order) or TokenScope.READ}",
        test=f"{TESTS}::test_a_token_that_is_not_valid_goes_to_django_at_once",
    ),
    Mutant(
        name="a-priority-that-anybody-may-have",
        path=ORDERS,
        old="scope_needed(order) or TokenScope.ORDERS",
        new="TokenScope.ORDERS",
        test=f"{TESTS}::test_a_priority_needs_its_scope",
    ),
    Mutant(
        name="orders-that-do-not-count",
        path=ORDERS,
        old="if not any(counts[subject].is_refused for subject in wish.subjects)",
        new="if True",
        test=f"{TESTS}::test_one_account_that_may_place_no_more_takes_nothing_from_the_others",
    ),
    Mutant(
        name="orders-that-count-twice",
        path=ORDERS,
        old="if accepted.get(number) is None",
        new="if False",
        test=f"{TESTS}::test_orders_count_on_both_ways_and_once",
    ),
    Mutant(
        name="an-answer-for-somebody-else",
        path=ORDERS,
        old="return [accepted.get(number) for number in range(len(placings))]",
        new="return [accepted.get(number) for number in reversed(range(len(placings)))]",
        test=f"{TESTS}::test_many_orders_take_few_statements_and_each_client_has_her_own",
    ),
    Mutant(
        name="one-key-that-stops-everybody",
        path=ORDERS,
        old="patience=PATIENCE",
        new="patience=None",
        test=f"{TESTS}::test_a_key_that_another_transaction_holds_keeps_no_other_order_waiting",
    ),
    Mutant(
        name="one-kind-that-stops-the-others",
        path=ORDERS,
        old="self._of_kind.setdefault(kind.name,",
        new='self._of_kind.setdefault("",',
        test=f"{TESTS}::test_a_kind_of_order_that_is_slow_holds_up_no_other",
    ),
    Mutant(
        name="orders-that-wait-for-one-another",
        path=ORDERS,
        old="if not kind.describes_together():",
        new="if False:",
        test=f"{TESTS}::test_a_kind_that_describes_its_orders_one_by_one_goes_to_django",
    ),
    Mutant(
        name="a-failure-that-is-tried-again-at-once",
        path=TOGETHER,
        old="if time.monotonic() >= self._pauses_until:",
        new="if True:",
        test="tests/web/test_together.py::test_after_a_failure_everything_goes_to_django_for_a_while",
    ),
)
