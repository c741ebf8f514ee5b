"""Reads that must not meet what was deleted while a snapshot is held, and must not miss anything either."""

from tests.mutants.mutant import ENGINE, Mutant

SNAPSHOTS = (
    Mutant(
        name="low-water-at-the-first-visible-row",
        path=f"{ENGINE}/channels/low_water.py",
        old="self.start = self._settled_id + 1 if first is None else min(first, self._settled_id + 1)",
        new="self.start = last_id + 1 if first is None else first",
        test="tests/store/test_low_water.py",
    ),
    Mutant(
        name="low-water-before-transactions-end",
        path=f"{ENGINE}/channels/low_water.py",
        old="return has_ended or now - reading.at >= SETTLED_AFTER",
        new="return True",
        test="tests/store/test_low_water.py",
    ),
    Mutant(
        name="low-water-only-at-the-limit",
        path=f"{ENGINE}/channels/low_water.py",
        old="return has_ended or now - reading.at >= SETTLED_AFTER",
        new="return now - reading.at >= SETTLED_AFTER",
        test="tests/store/test_low_water.py",
    ),
    Mutant(
        name="whole-read-counts-uncommitted",
        path=f"{ENGINE}/runtime/whole_reads.py",
        old="self._whole = now if number < limit else None",
        new="self._since = now - SETTLED if number < limit else None",
        test="tests/store/test_reads_under_a_snapshot.py",
    ),
    Mutant(
        name="low-water-for-ever",
        path=f"{ENGINE}/channels/low_water.py",
        old="[0 if reads_all else self.start, wants_number]",
        new="[self.start, wants_number]",
        test="tests/store/test_low_water.py",
    ),
)
