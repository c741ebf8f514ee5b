"""The mutants of the feed of changes: what keeps a reader from missing one."""

from tests.mutants.mutant import ENGINE, Mutant

PATH = f"{ENGINE}/state_store/feed.py"
TESTS = "tests/store/test_change_feed.py"

FEEDS = (
    Mutant(
        name="a-position-by-the-transactions-own-number",
        path=PATH,
        old="greatest({_NEXT}, pg_current_xact_id()::text::bigint)",
        new="pg_current_xact_id()::text::bigint",
        test=f"{TESTS}::test_an_order_has_its_changes_in_order_whoever_began_first",
    ),
    Mutant(
        name="a-position-by-the-next-number-alone",
        path=PATH,
        old="greatest({_NEXT}, pg_current_xact_id()::text::bigint)",
        new="{_NEXT}",
        test=TESTS,
    ),
    Mutant(
        name="a-reader-who-asks-nobody",
        path=PATH,
        old="       AND held.granted AND",
        new="       AND false AND",
        test=f"{TESTS}::test_a_change_with_a_lower_id_that_commits_later_is_not_missed",
    ),
    Mutant(
        name="a-quiet-time-that-hides-the-last-change",
        path="orders/selectors/changes.py",
        old="    if rows and rows[-1][0] >= mark.position:\n        advance()\n",
        new="    if False:\n        advance()\n",
        test=TESTS,
    ),
    Mutant(
        name="an-epoch-that-begins-beside-a-writer",
        path=PATH,
        old='run("LOCK TABLE orders_event IN SHARE ROW EXCLUSIVE MODE")',
        new="pass",
        test=f"{TESTS}::test_an_epoch_begins_when_nobody_writes_in_the_one_before",
    ),
    Mutant(
        name="a-restore-that-nobody-notices",
        path=PATH,
        old="    if not is_present:",
        new="    if is_present is None:",
        test=TESTS,
    ),
)
