"""When different orders fail alike, the release is at fault, and no order is blamed (rule 11)."""

from uuid import UUID

import pytest

from orders.engine.errors import LeadershipLost
from orders.engine.runtime.isolation import ALIKE, ALONE, MOST_HELD, RETRY_CAP, Isolation
from orders.engine.runtime.loop import Counts
from tests.unit.failing_roles import Role, must_not_set_aside, raising, row_ids


def test_when_every_order_fails_alike_the_role_stops_and_sets_nothing_aside() -> None:
    orders = row_ids(200)
    role = Role(orders, bad=orders, limit=200)
    assert role.drain() <= 20, "it is found by two orders, not by two hundred"
    assert (role.orders, role.set_aside) == (orders, {})
    assert role.blamed_on_the_release() == ["RuntimeError: a bad row"]
    passes = len(role.taken)
    assert role.run() == Counts()
    assert len(role.taken) == passes, "nothing is claimed before it is time to try again"


def test_a_role_that_has_stopped_tries_one_order_now_and_then() -> None:
    orders = row_ids(50)
    role = Role(orders, bad=orders)
    role.drain()
    role.taken.clear()
    for _ in range(40):
        role.now += RETRY_CAP
        role.run()
    assert [len(taken) for taken in role.taken] == [1] * 40
    assert role.set_aside == {}, "however long it lasts"


def test_a_role_that_has_stopped_goes_on_by_itself_once_an_order_succeeds() -> None:
    orders = row_ids(50)
    role = Role(orders, bad=orders)
    role.drain()
    role.bad = {}
    role.now += RETRY_CAP
    role.run()
    role.drain()
    assert (role.orders, role.set_aside, role.blamed_on_the_release()) == ([], {}, [])


def test_a_role_that_has_stopped_goes_on_when_its_orders_are_gone() -> None:
    """Another process has done them."""
    orders = row_ids(5)
    role = Role(orders, bad=orders)
    role.drain()
    role.orders = []
    for _ in range(20):
        role.now += RETRY_CAP
        role.run()
    assert role.blamed_on_the_release() == []


def test_an_order_that_another_process_has_in_hand_is_no_proof_that_the_role_works() -> None:
    orders = row_ids(5)
    role = Role(orders, bad=orders)
    role.drain()
    locked = role.orders
    role.orders = []
    for _ in range(2):
        role.now += RETRY_CAP
        role.run()
    assert role.blamed_on_the_release() == ["RuntimeError: a bad row"]
    role.orders = locked
    for _ in range(5):
        role.now += RETRY_CAP
        role.run()
    assert role.blamed_on_the_release() == ["RuntimeError: a bad row"]


def test_an_order_that_another_process_has_finished_is_not_set_aside() -> None:
    poison, sound = row_ids(2)
    role = Role([poison], bad=[poison])
    role.drain()
    role.bad = {}
    role.now += ALONE
    role.orders.append(sound)
    role.drain()
    assert (role.orders, role.set_aside) == ([], {})


def test_lost_leadership_is_no_reason_to_stop_when_an_order_is_set_aside() -> None:
    orders = row_ids(2)
    role = Role(orders, bad=orders[:1])

    def replaced(rows: list[UUID], error: Exception) -> None:
        raise LeadershipLost("another instance leads")

    with pytest.raises(LeadershipLost):
        while role.isolation.run(role.one_pass, replaced).busy:
            pass
    assert role.blamed_on_the_release() == []


def test_an_error_before_any_order_was_taken_stops_the_role() -> None:
    isolation = Isolation(8)
    isolation.run(raising(RuntimeError("no such column")), must_not_set_aside)
    assert [cause.text for cause in isolation.release_failures()] == ["RuntimeError: no such column"]
    assert isolation.run(lambda scope: Counts(busy=True), must_not_set_aside) == Counts()


def test_different_orders_that_fail_alike_wait_while_the_others_go_on() -> None:
    orders = row_ids(60)
    bad = orders[7:60:10]
    role = Role(orders, bad=bad, limit=20)
    role.drain()
    assert (role.orders, role.set_aside) == (bad, {})
    assert role.blamed_on_the_release() == ["RuntimeError: a bad row"]
    more = row_ids(5)
    role.orders += more
    role.drain()
    assert role.orders == bad
    role.bad = {}
    role.now += RETRY_CAP
    role.drain()
    assert (role.orders, role.blamed_on_the_release()) == ([], [])


def test_the_same_error_soon_after_an_order_was_set_aside_is_the_releases() -> None:
    first, sound, second = row_ids(3)
    role = Role([first, sound], bad=[first, second])
    role.drain()
    assert list(role.set_aside) == [first]
    role.now += ALIKE / 2
    role.orders = [second, *row_ids(3)]
    role.drain()
    for _ in range(20):
        assert (role.orders, list(role.set_aside)) == ([second], [first]), "however much time passes"
        assert role.blamed_on_the_release() == ["RuntimeError: a bad row"]
        role.now += ALIKE / 4
        role.drain()


def test_the_same_order_again_is_not_another_order() -> None:
    """An operator has resubmitted it, and it is as bad as before."""
    poison = row_ids(1)
    role = Role([*poison, *row_ids(3)], bad=poison)
    for _ in range(3):
        role.drain()
        assert (role.orders, list(role.set_aside)) == ([], poison)
        role.set_aside = {}
        role.now += ALIKE / 2
        role.orders = [*poison, *row_ids(3)]


def test_the_same_error_long_after_an_order_was_set_aside_is_another_orders() -> None:
    first, sound, second = row_ids(3)
    role = Role([first, sound], bad=[first, second])
    role.drain()
    role.now += ALIKE
    role.orders = [second, *row_ids(3)]
    role.drain()
    assert list(role.set_aside) == [first, second]


def test_two_orders_that_both_fail_before_any_other_succeeds_stop_the_role_whatever_their_errors_say() -> (
    None
):
    first, second = row_ids(2)
    role = Role([first, second], bad=[first])
    role.bad[second] = RuntimeError("its error names something of its own")
    role.drain()
    assert (role.orders, role.set_aside) == ([first, second], {})
    assert len(role.blamed_on_the_release()) == 1


def test_two_bad_orders_on_a_quiet_night_do_not_stop_the_role_for_the_next_ones() -> None:
    bad, later = row_ids(2), row_ids(5)
    role = Role(bad, bad=bad)
    role.drain()
    assert role.run() == Counts(), "nothing else has shown that the role works"
    role.orders += later
    for _ in range(4):
        role.now += RETRY_CAP
        role.drain()
    assert (role.orders, role.set_aside) == (bad, {})
    assert role.blamed_on_the_release() == ["RuntimeError: a bad row"]


def test_no_more_orders_are_left_alone_than_can_be_listed() -> None:
    orders = row_ids(4 * MOST_HELD)
    role = Role(orders, bad=orders[1::2], limit=400)
    role.drain(most=3_000)
    assert role.set_aside == {}
    assert role.run() == Counts()


def test_what_cannot_be_set_aside_stops_the_role() -> None:
    poison, sound = row_ids(2)
    role = Role([poison, sound], bad=[poison])

    def broken(orders: list[UUID], error: Exception) -> None:
        raise RuntimeError("no such table")

    while role.isolation.run(role.one_pass, broken).busy:
        pass
    assert role.blamed_on_the_release() == ["RuntimeError: no such table"]
