"""A batch that finds the bad row in it (rule 11)."""

from collections.abc import Callable, Sequence
from uuid import UUID, uuid4

import pytest
from django.db import DataError, InterfaceError, InternalError, OperationalError

from orders.engine.errors import LeadershipLost
from orders.engine.runtime.batch import AdaptiveBatch
from orders.engine.runtime.loop import Counts


class Queue:
    """Rows in order; a pass takes the first ones, and fails if one of those is bad."""

    def __init__(self, rows: Sequence[UUID], *, bad: UUID | None = None) -> None:
        self.rows = list(rows)
        self.bad = bad
        self.sizes: list[int] = []
        self.set_aside: list[UUID] = []
        self.error: Exception = RuntimeError("a bad row")

    def one_pass(self, limit: int, touched: list[UUID]) -> Counts:
        self.sizes.append(limit)
        touched.extend(self.rows[:limit])
        if self.bad in touched:
            raise self.error
        del self.rows[:limit]
        return Counts(busy=bool(self.rows), done={"rows": len(touched)})

    def put_aside(self, rows: list[UUID], error: Exception) -> None:
        assert error is self.error
        self.set_aside.extend(rows)
        self.rows = [row for row in self.rows if row not in rows]

    def drain(self, batch: AdaptiveBatch, *, passes: int) -> int:
        """Runs passes until the queue is empty; returns their number."""
        for number in range(1, passes + 1):
            batch.run(self.one_pass, self.put_aside)
            if not self.rows:
                return number
        raise AssertionError(f"{len(self.rows)} rows are left after {passes} passes")


def row_ids(count: int) -> list[UUID]:
    return [uuid4() for _ in range(count)]


def failing(error: Exception, *touches: UUID) -> Callable[[int, list[UUID]], Counts]:
    """A pass that starts work on these rows and then fails."""

    def one_pass(limit: int, touched: list[UUID]) -> Counts:
        touched.extend(touches)
        raise error

    return one_pass


def must_not_set_aside(rows: list[UUID], error: Exception) -> None:
    raise AssertionError(f"set aside {rows} for {error!r}")


@pytest.mark.pattern("S3")
@pytest.mark.parametrize("place", [0, 1, 37, 99])
def test_only_the_bad_row_is_set_aside_and_all_others_go_through(place: int) -> None:
    rows = row_ids(100)
    queue = Queue(rows, bad=rows[place])
    queue.drain(AdaptiveBatch(64), passes=60)
    assert queue.set_aside == [rows[place]]


@pytest.mark.pattern("S3")
def test_a_bad_row_costs_a_few_passes_rather_than_one_for_each_row() -> None:
    rows = row_ids(200)
    queue = Queue(rows, bad=rows[0])
    assert queue.drain(AdaptiveBatch(200), passes=60) <= 20


def test_the_batch_halves_down_to_one_and_doubles_up_to_its_limit() -> None:
    rows = row_ids(120)
    queue = Queue(rows, bad=rows[0])
    queue.drain(AdaptiveBatch(20), passes=60)
    assert queue.sizes[:13] == [20, 10, 5, 2, 1, 1, 1, 2, 4, 8, 16, 20, 20]


def test_a_failed_pass_is_counted_and_another_follows_at_once() -> None:
    batch = AdaptiveBatch(8)
    assert batch.run(failing(RuntimeError(), *row_ids(3)), must_not_set_aside) == Counts(
        busy=True, done={"failed_passes": 1}
    )


def test_a_row_that_fails_once_alone_is_not_set_aside() -> None:
    """It may have been a collision with another instance."""
    (row,) = row_ids(1)
    batch = AdaptiveBatch(1)
    batch.run(failing(RuntimeError(), row), must_not_set_aside)
    batch.run(lambda limit, touched: Counts(), must_not_set_aside)
    batch.run(failing(RuntimeError(), row), must_not_set_aside)


def test_two_rows_that_fail_once_each_are_not_set_aside() -> None:
    """Two failures are a row's own fault only if it is the same row."""
    first, second = row_ids(2)
    batch = AdaptiveBatch(1)
    batch.run(failing(RuntimeError(), first), must_not_set_aside)
    batch.run(failing(RuntimeError(), second), must_not_set_aside)


def test_a_successful_pass_returns_its_counts() -> None:
    counts = Counts(busy=True, done={"rows": 7})
    assert AdaptiveBatch(8).run(lambda limit, touched: counts, must_not_set_aside) is counts


def test_an_error_before_any_row_was_taken_blames_no_row() -> None:
    with pytest.raises(RuntimeError, match="early"):
        AdaptiveBatch(1).run(failing(RuntimeError("early")), must_not_set_aside)


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("the connection was lost"),
        InterfaceError("the connection is closed"),
        LeadershipLost("another one leads"),
        # PostgreSQL's transaction_timeout and idle_in_transaction_session_timeout reach Django as this (rule 12).
        InternalError("terminating connection due to transaction timeout"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_database_error_blames_no_row(error: Exception) -> None:
    rows = row_ids(2)
    batch = AdaptiveBatch(2)
    for _ in range(4):
        with pytest.raises(type(error)):
            batch.run(failing(error, *rows), must_not_set_aside)
    sizes: list[int] = []
    batch.run(lambda limit, touched: sizes.append(limit) or Counts(), must_not_set_aside)  # type: ignore[func-returns-value]
    assert sizes == [2]


def test_a_value_that_the_database_refuses_blames_its_row() -> None:
    rows = row_ids(4)
    queue = Queue(rows, bad=rows[2])
    queue.error = DataError("out of range")
    queue.drain(AdaptiveBatch(4), passes=20)
    assert queue.set_aside == [rows[2]]
