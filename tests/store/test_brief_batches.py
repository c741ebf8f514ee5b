"""A batch never holds a lock for more than 100 ms: the server ends it, and the walk goes on with fewer rows."""

import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest
from django.db import InterfaceError, connection, transaction
from django.db.utils import DatabaseError

from orders.engine.runtime.brief_batches import LONGEST, Chunk, Pace, brief_transaction, in_batches
from orders.engine.runtime.sql import fetch, run
from tests.support.log_lines import written_lines
from tests.support.two_sessions import Session
from tests.support.wait import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("brief_limit")]

GENEROUS = 2.0
"""Seconds in which a lock must be free on a busy machine: besides the limit, and far less than without one."""


@pytest.fixture
def numbers() -> Iterator[None]:
    """A table with the numbers from 1 to 40."""
    run("CREATE TABLE numbers AS SELECT n, false AS done FROM generate_series(1, 40) AS n")
    yield
    connection.close()
    run("DROP TABLE numbers")


@pytest.fixture
def other() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


def choose(after: int, size: int) -> Chunk:
    keys = [row[0] for row in fetch("SELECT n FROM numbers WHERE n > %s ORDER BY n LIMIT %s", [after, size])]
    return Chunk(keys=keys, last=keys[-1] if len(keys) == size else None)


def mark(keys: Sequence[int]) -> int:
    return run("UPDATE numbers SET done = true WHERE n = ANY(%s) AND NOT done", [list(keys)])


def done() -> list[int]:
    return [row[0] for row in fetch("SELECT n FROM numbers WHERE done ORDER BY n")]


def test_a_transaction_is_limited_as_a_whole_and_the_next_one_is_not() -> None:
    names = ("transaction_timeout", "statement_timeout", "synchronous_commit")
    usual = [fetch(f"SHOW {name}")[0][0] for name in names]
    with brief_transaction(LONGEST):
        assert [fetch(f"SHOW {name}")[0][0] for name in names] == ["70ms", "60ms", "off"]
    assert [fetch(f"SHOW {name}")[0][0] for name in names] == usual


def test_a_caller_keeps_the_limits_of_its_own_transaction() -> None:
    with transaction.atomic():
        usual = fetch("SHOW transaction_timeout")
        with brief_transaction():
            assert fetch("SHOW transaction_timeout") == usual


def test_a_batch_of_many_short_statements_is_ended_by_its_total_time() -> None:
    """No single statement is long. The connection has a longer limit, whose time has begun to run."""
    with pytest.raises(DatabaseError), brief_transaction():
        for _ in range(100):
            run("SELECT pg_sleep(0.02)")
    connection.close()


def test_others_get_the_lock_although_the_client_of_a_batch_is_stopped(
    numbers: None, other: Session, brief_limit: float
) -> None:
    """The batch never goes on by itself, so the lock can only be free because the server has ended the batch."""

    def lock() -> float:
        began = time.monotonic()
        run("UPDATE numbers SET done = true WHERE n = 1")
        return time.monotonic() - began

    with pytest.raises((DatabaseError, InterfaceError)), brief_transaction():
        mark([1])
        waited = other.do(lock)
        assert waited < brief_limit + GENEROUS
        run("SELECT 1")
    assert done() == [1]


def test_a_slow_batch_is_given_up_and_made_smaller_until_it_is_quick_enough(numbers: None) -> None:
    sizes: list[int] = []

    def work(keys: Sequence[int]) -> int:
        sizes.append(len(keys))
        changed = mark(keys)
        if len(keys) > 4:
            run("SELECT pg_sleep(30)")
        return changed

    pace = Pace(size=32, largest=4)
    walk = in_batches(choose=choose, work=work, start=0, pace=pace, seconds=60)
    assert sizes[:3] == [32, 8, 2]
    assert (walk.changed, walk.left_behind, walk.after) == (40, 0, None)
    assert done() == list(range(1, 41))


@pytest.mark.parametrize("how", ["one statement", "many statements", "a client that waits"])
def test_a_row_that_is_always_too_slow_is_left_behind_and_the_others_are_not(
    numbers: None, other: Session, how: str
) -> None:
    def work(keys: Sequence[int]) -> int:
        changed = mark(keys)
        if 7 in keys:
            if how == "one statement":
                run("SELECT pg_sleep(30)")
            elif how == "many statements":
                for _ in range(1_000):
                    run("SELECT pg_sleep(0.03)")
            else:
                wait_until_ended(other, fetch("SELECT pg_backend_pid()")[0][0])
        return changed

    walk = in_batches(choose=choose, work=work, start=0, pace=Pace(size=10, largest=10), seconds=60)
    assert (walk.left_behind, walk.after) == (1, None)
    assert done() == [number for number in range(1, 41) if number != 7]


def test_an_order_that_is_left_behind_is_named_in_the_log() -> None:
    order_id = UUID(int=7)

    def wait_too_long(_: Sequence[UUID]) -> int:
        return run("SELECT pg_sleep(30)")

    with written_lines() as lines:
        in_batches(choose=lambda *_: Chunk(keys=[order_id], last=None), work=wait_too_long, start=UUID(int=0))
    assert [f"order_id={order_id}" in line for line in lines if "left behind" in line] == [True]


def test_a_timer_that_runs_out_at_the_end_of_a_batch_may_close_the_connection_under_the_next_choice(
    numbers: None, other: Session, brief_limit: float
) -> None:
    """The server ends the connection after the commit, as it does when the timer runs out during it."""
    ended: list[int] = []

    def end_after(keys: Sequence[int]) -> int:
        run("SELECT pg_sleep(%s)", [brief_limit * 0.55])
        transaction.on_commit(lambda: ended.append(fetch("SELECT pg_backend_pid()")[0][0]))
        return mark(keys)

    def choose_next(after: int, size: int) -> Chunk:
        if len(ended) == 1:
            end(other, ended[0])
            ended.append(0)
        return choose(after, size)

    def work(keys: Sequence[int]) -> int:
        return mark(keys) if ended else end_after(keys)

    walk = in_batches(choose=choose_next, work=work, start=0, pace=Pace(size=1, largest=10), seconds=60)
    assert len(ended) == 2, "no connection was ended"
    assert (walk.changed, walk.left_behind, walk.after) == (40, 0, None)


def test_a_connection_that_ends_under_a_choice_is_an_error_unless_a_slow_batch_came_before(
    numbers: None, other: Session
) -> None:
    def choose_in_vain(after: int, size: int) -> Chunk:
        if after:
            end(other, fetch("SELECT pg_backend_pid()")[0][0])
        return choose(after, size)

    with pytest.raises((DatabaseError, InterfaceError)):
        in_batches(choose=choose_in_vain, work=mark, start=0, pace=Pace(size=10, largest=10), seconds=60)
    connection.close()
    assert done() == list(range(1, 11))


def test_what_a_batch_changed_is_counted_only_once_it_is_committed(numbers: None, other: Session) -> None:
    """The server may end the transaction after its last statement, before its commit."""
    lost: list[int] = []

    def work(keys: Sequence[int]) -> int:
        changed = mark(keys)
        if not lost:
            lost.extend(keys)
            wait_until_ended(other, fetch("SELECT pg_backend_pid()")[0][0])
        return changed

    walk = in_batches(choose=choose, work=work, start=0, pace=Pace(size=40, largest=40), seconds=60)
    assert len(lost) == 40
    assert walk.changed == 40
    assert walk.given_up >= 1
    assert done() == list(range(1, 41))


def test_a_walk_that_runs_out_of_time_says_where_to_continue(numbers: None) -> None:
    walk = in_batches(choose=choose, work=mark, start=0, pace=Pace(size=5, largest=5), seconds=0)
    assert (walk.changed, walk.after) == (5, 5)
    walk = in_batches(choose=choose, work=mark, start=35, pace=Pace(size=5, largest=5))
    assert (walk.changed, walk.after) == (5, None)


def test_an_error_that_is_not_about_time_is_raised(numbers: None) -> None:
    def work(_: Sequence[Any]) -> int:
        return run("SELECT 1 / 0")

    with pytest.raises(DatabaseError, match="division by zero"):
        in_batches(choose=choose, work=work, start=0)
    assert done() == []


def wait_until_ended(other: Session, pid: int) -> None:
    """Waits, in a client that does nothing, until the server has ended its session."""
    alive = "SELECT FROM pg_stat_activity WHERE pid = %s"
    until(lambda: not other.do(lambda: fetch(alive, [pid])), what="the end of the session")


def end(other: Session, pid: int) -> None:
    """Ends a session, as the server does when its time has run out."""
    other.do(lambda: fetch("SELECT pg_terminate_backend(%s)", [pid]))
    wait_until_ended(other, pid)
