"""The mutants of reads that are answered in the event loop: what keeps them from saying more than Django would."""

from tests.mutants.mutant import Mutant

SELECTOR = "orders/selectors/known_reads.py"
TOKENS = "orders/models/access.py"
READS = "orders/api/known_reads.py"
TESTS = "tests/web/test_known_reads.py"

KNOWN_READS = (
    Mutant(
        name="an-order-of-somebody-else",
        path=SELECTOR,
        old=" AND placed.customer_id = account.id",
        new="",
        test=f"{TESTS}::test_another_clients_order_goes_to_django_whatever_she_knows",
    ),
    Mutant(
        name="a-token-that-has-expired",
        path=TOKENS,
        old=" AND token.expires_at > %(now)s::timestamptz",
        new=" AND %(now)s::timestamptz IS NOT NULL",
        test=f"{TESTS}::test_a_token_that_is_not_valid_goes_to_django_at_once",
    ),
    Mutant(
        name="an-account-that-is-closed",
        path=TOKENS,
        old="account.is_active AND ",
        new="",
        test=f"{TESTS}::test_a_token_that_is_not_valid_goes_to_django_at_once",
    ),
    Mutant(
        name="a-use-that-is-never-noted",
        path=TOKENS,
        old="    AND token.last_used_at > %(noted_since)s::timestamptz AND",
        new="    AND %(noted_since)s::timestamptz IS NOT NULL AND",
        test=f"{TESTS}::test_the_use_of_a_token_is_noted_although_nothing_changes",
    ),
    Mutant(
        name="a-version-that-is-not-compared",
        path=READS,
        old='if question.known_versions.isdisjoint((seen.version, "*")):',
        new="if not question.known_versions:",
        test=f"{TESTS}::test_a_changed_order_goes_to_django",
    ),
    Mutant(
        name="a-read-that-does-not-count",
        path=READS,
        old='count = PURSES.spend(("reads.account", str(seen.account_id)))',
        new="count = None",
        test=f"{TESTS}::test_reads_count_on_both_ways",
    ),
    Mutant(
        name="answers-in-another-order",
        path=SELECTOR,
        old="seen[position - 1] = ",
        new="seen[-position] = ",
        test=f"{TESTS}::test_many_questions_are_answered_with_few_statements",
    ),
)
