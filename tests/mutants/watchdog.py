"""The mutants of the watchdog."""

from tests.mutants.mutant import Mutant

SERVICES = "tests/services/test_watchdog.py"
QUEUES = "tests/services/test_queue_watch.py"
WATCHDOG = (
    Mutant(
        name="concluded-right-after-the-start",
        path="orders/watchdog/watch.py",
        old="        if self._knows_enough():  # before",
        new="        if True:  # before",
        test=f"{SERVICES}::test_nothing_is_told_before_the_database_has_answered_for_a_while",
    ),
    Mutant(
        name="alerts-left-to-dead-jobs",
        path="orders/watchdog/watch.py",
        old="        if vitals.late or self._troubles:",
        new="        if False:",
        test=f"{SERVICES}::test_a_dead_supervisor_is_told_without_the_jobs_and_told_once",
    ),
    Mutant(
        name="every-process-tells",
        path="orders/watchdog/notices.py",
        old="if is_told is is_over and",
        new="if",
        test=f"{SERVICES}::test_a_database_that_takes_no_writes_is_told_directly_and_told_over",
    ),
    Mutant(
        name="a-queue-that-moves-is-told",
        path="orders/watchdog/queues.py",
        old="self._since = {first: self._since.get(first, now) for",
        new="self._since = {first: self._since.get(first, 0.0) for",
        test=f"{QUEUES}::test_a_queue_that_moves_is_no_trouble_however_long_it_is",
    ),
    Mutant(
        name="a-troubled-role-is-told-twice",
        path="orders/watchdog/queues.py",
        old=" HAVING bool_and(troubles = '[]')",
        new="",
        test=f"{QUEUES}::test_a_role_that_says_what_is_wrong_is_not_told_twice",
    ),
)
