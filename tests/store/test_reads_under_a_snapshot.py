"""Lists by time while a snapshot is held: what has left them is not met again at each look, and nothing is missed."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import OperationalError

from orders.engine import state_store
from orders.engine.runtime import whole_reads
from orders.engine.runtime.sql import database_now, run
from orders.engine.scheduler import role
from orders.engine.state_store import definitions
from orders.watchdog.vitals import read_vitals
from tests.support.factories import ago, make_order
from tests.support.plans import blocks_of
from tests.support.roles import a_scheduler, a_supervisor, stored
from tests.support.two_sessions import NewSession, hold_snapshot
from tests.support.wait import until
from tests.support.workflows import CAKES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("F26")]

READY = """
    INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns,
                                     priority, reply_to, announced, created_at)
    SELECT gen_random_uuid(), 'bake-cake', 3, 'complete', 'pending', 0, 0, mod(n, 3), '', true,
           now() - interval '1 hour'
      FROM generate_series(1, 20000) AS n
"""
UNDER_WAY = """
    INSERT INTO orders_stepstate (order_id, name, position, agent, state, attempt, answered, generation,
                                  compensation_generation, outcome, complete_by, failure_count,
                                  compensation_failure_count, extended_waits, request, priority)
    SELECT order_id, 'mix', 0, 'kitchen', 'running', 1, 0, 1, 1, 'unknown', now() - interval '1 hour', 0, 0, 0, '{}', 5
      FROM orders_orderprocess
"""


@pytest.fixture
def dead_entries(new_session: NewSession) -> Iterator[None]:
    """20,000 orders that were ready, and 20,000 steps that were under way, an hour ago; a snapshot still shows them."""
    run(READY)
    run(UNDER_WAY)
    hold_snapshot(new_session())
    run("UPDATE orders_orderprocess SET process_state = 'processed'")
    run("UPDATE orders_stepstate SET state = 'completed', answered = 1, outcome = 'done', complete_by = NULL")
    run("ANALYZE orders_orderprocess, orders_stepstate")
    yield
    run("TRUNCATE orders_orderprocess CASCADE")


@pytest.mark.usefixtures("dead_entries")
def test_a_look_at_what_is_new_does_not_meet_what_was_ready_or_under_way_before() -> None:
    now = database_now()
    since = now - timedelta(seconds=10)
    make_order({"mix": {"state": "running", "complete_by": ago(5)}}, process_state="processing")
    make_order()
    assert blocks_of(lambda: state_store.claim(50, CAKES, now)) > 300
    assert blocks_of(lambda: state_store.overdue(50, now)) > 300
    numbers = []
    assert blocks_of(lambda: numbers.append(len(state_store.claim(50, CAKES, now, since=since)))) < 100
    assert blocks_of(lambda: numbers.append(len(state_store.overdue(50, now, since=since)))) < 100
    assert numbers == [1, 1]


@pytest.mark.usefixtures("dead_entries")
def test_checks_that_find_nothing_on_an_ordinary_day_do_not_look_at_the_orders() -> None:
    """The check for a changed workflow has no other definition to look for, and the watchdog sees its roles alive."""
    a_scheduler().health.beat()
    assert blocks_of(lambda: definitions.other_definitions(CAKES)) < 100
    assert blocks_of(read_vitals) < 100
    run("UPDATE orders_roleinstance SET seen_at = clock_timestamp() - interval '1 hour'")
    assert blocks_of(read_vitals) > 300


@pytest.fixture
def rarely_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A read from the beginning is taken to be so costly that there is only one in a test."""
    monkeypatch.setattr(whole_reads, "SHARE", 1e9)


@pytest.mark.usefixtures("rarely_whole")
def test_new_orders_are_claimed_between_two_whole_reads_and_old_ones_wait_for_the_next() -> None:
    scheduler = a_scheduler()
    assert scheduler.run_once().done["orders"] == 0
    resubmitted, new = make_order(created_at=ago(3600)), make_order()
    assert scheduler.run_once().done["orders"] == 1
    assert (stored(resubmitted).locked_by, stored(new).locked_by) == (None, "scheduler:a")


@pytest.mark.usefixtures("rarely_whole")
def test_what_has_just_become_overdue_is_found_between_two_whole_reads() -> None:
    supervisor = a_supervisor()
    assert supervisor.acquire()
    assert supervisor.run_once().done["found"] == 0
    make_order({"mix": {"state": "running", "complete_by": ago(3600)}}, process_state="processing")
    make_order({"mix": {"state": "running", "complete_by": ago(1)}}, process_state="processing")
    assert supervisor.run_once().done["found"] == 1


@pytest.mark.usefixtures("rarely_whole")
def test_orders_of_a_pass_that_fails_are_read_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = a_scheduler()
    order = make_order(created_at=ago(3600))
    with monkeypatch.context() as broken, pytest.raises(OperationalError):
        broken.setattr(role, "charge_credit", lost_connection)
        scheduler.run_once()
    assert scheduler.run_once().done["orders"] == 1
    assert stored(order).locked_by == "scheduler:a"


def test_old_orders_are_found_at_the_next_whole_read() -> None:
    scheduler = a_scheduler()
    scheduler.run_once()
    make_order(created_at=ago(3600))
    until(lambda: scheduler.run_once().done["orders"])


def lost_connection(*_: object, **__: object) -> None:
    raise OperationalError("the connection is lost")
