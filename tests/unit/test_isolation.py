"""One order's fault stays with that order, and the release's fault is blamed on no order (rule 11)."""

import psycopg
import pytest
from django.db import DataError, InterfaceError, InternalError, OperationalError

from orders.engine.errors import LeadershipLost
from orders.engine.runtime.isolation import ALIKE, ALONE, RETRY_CAP
from orders.engine.runtime.loop import Counts
from tests.unit.failing_roles import SLOW, Role, row_ids

# --- one order


@pytest.mark.pattern("S3")
@pytest.mark.parametrize("place", [0, 1, 37, 99])
def test_only_the_bad_order_is_set_aside_and_all_others_go_through(place: int) -> None:
    orders = row_ids(100)
    role = Role(orders, bad=[orders[place]])
    role.drain()
    assert (role.orders, list(role.set_aside)) == ([], [orders[place]])
    assert str(role.set_aside[orders[place]]) == "a bad row"
    assert role.blamed_on_the_release() == []


@pytest.mark.pattern("S3")
def test_a_bad_order_costs_a_few_passes_rather_than_one_for_each_order() -> None:
    orders = row_ids(200)
    role = Role(orders, bad=orders[:1], limit=200)
    assert role.drain() <= 20


def test_the_failed_orders_are_taken_apart_in_halves_and_no_other_is_taken_meanwhile() -> None:
    orders = row_ids(20)
    role = Role(orders, bad=[orders[5]], limit=8)
    role.drain()
    first = [[orders.index(order_id) for order_id in taken] for taken in role.taken]
    assert first[:6] == [[*range(8)], [0, 1, 2, 3], [4, 5, 6, 7], [4, 5], [4], [5]]
    assert first[6:8] == [[5], [6, 7]], "it is tried once more, in case it collided with another instance"
    assert first[8] == [5], "and right before it is set aside, for another process may have gone on with it"
    assert first[9:] == [[*range(8, 16)], [16, 17, 18, 19]]


def test_a_failed_pass_is_counted_and_another_follows_at_once() -> None:
    orders = row_ids(3)
    role = Role(orders, bad=orders[:1])
    assert role.run() == Counts(busy=True, done={"failed_passes": 1})


def test_an_order_that_fails_only_once_alone_is_not_set_aside() -> None:
    """It may have been a collision with another instance."""
    (order,) = row_ids(1)
    role = Role([order], bad=[order])
    role.run()
    role.bad = {}
    role.drain()
    assert (role.orders, role.set_aside) == ([], {})


def test_an_order_that_fails_with_ever_new_errors_is_set_aside_after_a_few_tries() -> None:
    class Mood(RuntimeError):
        def __str__(self) -> str:
            return "x" * len(role.taken)

    poison, sound = row_ids(2)
    role = Role([poison, sound], bad=[poison])
    role.bad[poison] = Mood()
    assert role.drain() <= 12
    assert (role.orders, list(role.set_aside)) == ([], [poison])


def test_two_errors_of_different_kinds_do_not_make_an_order_poison() -> None:
    """Two collisions in a row, for example."""
    order, sound = row_ids(2)
    role = Role([order, sound], bad=[order])
    role.run()
    role.run()
    role.bad[order] = RuntimeError("another collision")
    role.run()
    role.bad = {}
    role.drain()
    assert (role.orders, role.set_aside) == ([], {})


def test_an_order_alone_is_kept_until_another_shows_that_the_role_works() -> None:
    poison, sound = row_ids(2)
    role = Role([poison], bad=[poison])
    role.drain()
    role.now += RETRY_CAP
    role.drain()
    assert (role.orders, role.set_aside, role.blamed_on_the_release()) == ([poison], {}, [])
    role.now += 0.1
    role.orders.append(sound)
    role.drain()
    assert (role.orders, list(role.set_aside)) == ([], [poison])


def test_an_order_alone_is_set_aside_when_no_other_comes() -> None:
    (poison,) = row_ids(1)
    role = Role([poison], bad=[poison])
    role.drain()
    role.now += ALONE
    role.drain()
    assert list(role.set_aside) == [poison]


def test_a_successful_pass_returns_its_counts() -> None:
    role = Role(row_ids(7), limit=8)
    assert role.run() == Counts(done={"orders": 7})


def test_a_value_that_the_database_refuses_blames_its_order() -> None:
    orders = row_ids(4)
    role = Role(orders, bad=[orders[2]])
    role.bad[orders[2]] = DataError("out of range")  # type: ignore[assignment]
    role.drain()
    assert list(role.set_aside) == [orders[2]]


@pytest.mark.parametrize("cause", [psycopg.errors.ProgramLimitExceeded(), psycopg.errors.DataCorrupted()])
def test_a_row_that_is_too_large_or_damaged_is_its_own_orders_fault(cause: psycopg.Error) -> None:
    """PostgreSQL reports it as the same kind of error as a lost connection."""
    orders = row_ids(4)
    role = Role(orders, bad=[orders[2]])
    error = OperationalError("index row size 9000 exceeds the maximum")
    error.__cause__ = cause
    role.bad[orders[2]] = error  # type: ignore[assignment]
    role.drain()
    assert list(role.set_aside) == [orders[2]]


def test_orders_that_fail_with_different_errors_are_each_set_aside() -> None:
    orders = row_ids(9)
    role = Role(orders, bad=[orders[2]])
    role.bad[orders[6]] = RuntimeError("another bad row")
    role.drain()
    assert set(role.set_aside) == {orders[2], orders[6]}


# --- the database


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("the connection was lost"),
        InterfaceError("the connection is closed"),
        LeadershipLost("another instance leads"),
        OperationalError("connection timeout expired"),
    ],
    ids=str,
)
def test_a_database_error_blames_no_order(error: Exception) -> None:
    role = Role(row_ids(2), limit=2)
    role.bad = dict.fromkeys(role.orders, error)  # type: ignore[arg-type]
    for _ in range(4):
        with pytest.raises(type(error)):
            role.run()
    role.bad = {}
    role.run()
    assert [len(taken) for taken in role.taken] == [2] * 5
    assert role.set_aside == {}


def test_a_lost_connection_does_not_forget_the_orders_that_are_being_taken_apart() -> None:
    orders = row_ids(4)
    role = Role(orders, bad=[orders[3]])
    role.run()
    role.bad[orders[0]] = OperationalError("the connection was lost")  # type: ignore[assignment]
    with pytest.raises(OperationalError):
        role.run()
    del role.bad[orders[0]]
    role.drain()
    assert list(role.set_aside) == [orders[3]]


def test_a_pass_that_runs_out_of_time_is_halved_until_it_fits() -> None:
    orders = row_ids(200)
    role = Role(orders, limit=200)
    role.most = 30
    role.drain()
    assert (role.orders, role.set_aside, role.blamed_on_the_release()) == ([], {}, [])
    assert [len(taken) for taken in role.taken[:4]] == [200, 100, 50, 25]


def test_a_pass_that_ran_out_of_time_is_counted_as_slow() -> None:
    role = Role(row_ids(2))
    role.most = 1
    assert role.run() == Counts(busy=True, done={"slow_passes": 1})


def test_the_batch_grows_again_after_quick_passes_only() -> None:
    role = Role(row_ids(400), limit=200)
    role.most = 100
    role.seconds = 0.02
    role.run()
    role.run()
    role.run()
    assert role.isolation.size == 100
    role.run()
    assert role.isolation.size == 100, "100 orders in 2 s: 200 might not fit"
    role.seconds = 0.001
    role.run()
    assert role.isolation.size == 200


def test_one_order_that_runs_out_of_time_is_not_set_aside_and_holds_up_no_other() -> None:
    orders = row_ids(9)
    role = Role(orders, limit=8)
    role.bad[orders[4]] = SLOW  # type: ignore[assignment]
    for _ in range(30):
        try:
            role.run()
        except InternalError as error:
            assert error is SLOW
    assert (role.orders, role.set_aside, role.blamed_on_the_release()) == ([orders[4]], {}, [])
    role.now += ALIKE
    assert role.blamed_on_the_release() == [f"InternalError: {SLOW}"], "operators hear of it after a minute"
    role.bad = {}
    role.drain()
    assert role.orders == []
