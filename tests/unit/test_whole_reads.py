"""When a list is read from its beginning: as often as that is cheap, and at once as long as something was left."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError

from orders.engine.runtime.whole_reads import SETTLED, SHARE, WholeReads

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class List:
    """A list that a process reads, ten entries at most; `cost` is how many seconds a read from the beginning takes."""

    def __init__(self, *, cost: float) -> None:
        self.time = 0.0
        self.cost = cost
        self.length = 3
        self.reads = WholeReads(clock=lambda: self.time)

    def read(self, *, is_committed: bool = True) -> datetime | None:
        """Makes one read; returns from when on."""
        sinces = []

        def look(since: datetime | None) -> list[int]:
            self.time += self.cost if since is None else 0.0
            sinces.append(since)
            return list(range(self.length))

        now = NOON + timedelta(seconds=self.time)
        assert self.reads.read(look, limit=10, now=now) == list(range(self.length))
        if is_committed:
            self.reads.confirm()
        return sinces[0]


def test_a_list_without_dead_entries_is_read_from_the_beginning_each_time() -> None:
    ready = List(cost=0.001)
    reads = []
    for _ in range(5):
        reads.append(ready.read())
        ready.time += 0.1
    assert reads == [None] * 5


def test_a_costly_read_is_followed_by_reads_of_what_is_new_for_twenty_times_as_long() -> None:
    ready = List(cost=0.5)
    assert ready.read() is None
    assert ready.read() == NOON - SETTLED
    ready.time += SHARE * ready.cost - 0.1
    assert ready.read() == NOON - SETTLED
    ready.time += 0.1
    began = NOON + timedelta(seconds=ready.time)
    assert ready.read() is None
    assert ready.read() == began - SETTLED


def test_what_a_full_read_has_left_is_looked_for_at_once() -> None:
    ready = List(cost=0.5)
    ready.length = 10
    assert [ready.read(), ready.read()] == [None, None]
    ready.length = 9
    assert ready.read() is None
    assert ready.read() is not None


def test_a_whole_read_that_fails_is_as_costly_as_it_was_and_what_is_new_goes_on() -> None:
    ready = List(cost=5.0)

    def fail(_: datetime | None) -> list[int]:
        ready.time += ready.cost
        raise OperationalError("canceling statement due to statement timeout")

    with pytest.raises(OperationalError):
        ready.reads.read(fail, limit=10, now=NOON)
    assert ready.read() == NOON - SETTLED
    ready.time += SHARE * ready.cost
    assert ready.read() is None


def test_a_read_whose_transaction_failed_is_repeated() -> None:
    ready = List(cost=0.5)
    assert ready.read(is_committed=False) is None
    assert ready.read() is None
    assert ready.read() is not None
