"""Retention holds no lock for more than 100 ms, whatever is slow, and what is slow or fails does not stop the rest."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from orders import retention
from orders.engine.runtime import brief_batches
from orders.engine.runtime.brief_batches import Pace
from orders.engine.runtime.sql import fetch, run
from orders.models import ArchivedOrder, RetentionFailure
from orders.retention import moving
from tests.support.factories import make_alert
from tests.support.finished_orders import finished_order, is_stored, retain

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("brief_limit")]

SLOW_DELETE = """
    CREATE FUNCTION slow_delete() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep({seconds}); RETURN OLD; END $$;
    CREATE TRIGGER slow_delete BEFORE DELETE ON orders_orderprocess FOR EACH ROW {condition}
        EXECUTE FUNCTION slow_delete();
"""
# Fires at the end of a transaction, and so knows how long it has lasted.
STOPWATCH = """
    CREATE TABLE lasted (seconds float);
    CREATE FUNCTION stop_watch() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO lasted VALUES (extract(epoch FROM clock_timestamp() - transaction_timestamp()));
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER stop_watch AFTER INSERT ON orders_archivedorder DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION stop_watch();
"""


@pytest.fixture(autouse=True)
def no_triggers() -> Iterator[None]:
    yield
    connection.close()
    run("DROP FUNCTION IF EXISTS slow_delete, stop_watch CASCADE")
    run("DROP TABLE IF EXISTS lasted")


def make_slow(order_id: UUID | None = None, *, seconds: float) -> None:
    """Makes the deletion of each process slow, or only of one."""
    condition = f"WHEN (OLD.order_id = '{order_id}')" if order_id else ""
    run(SLOW_DELETE.format(seconds=seconds, condition=condition))


def test_no_batch_that_moves_orders_lasts_longer_than_a_lock_may_be_held(brief_limit: float) -> None:
    """All orders in one batch would take 4 s, so it is given up and made smaller."""
    orders = {finished_order() for _ in range(40)}
    make_slow(seconds=0.1)
    run(STOPWATCH)
    pace = Pace(size=40, largest=40)
    walk = moving.archive_finished(before=timezone.now(), pace=pace)
    assert (walk.changed, walk.left_behind, walk.after) == (40, 0, None)
    assert set(ArchivedOrder.objects.values_list("order_id", flat=True)) == orders
    assert pace.size < 10
    ((longest, batches),) = fetch("SELECT max(seconds), count(DISTINCT seconds) FROM lasted")
    assert longest <= brief_limit
    assert batches > 4


def test_an_order_that_takes_too_long_stays_as_it_was_and_the_others_move() -> None:
    orders = [finished_order(days=days) for days in (95, 94, 93, 92)]
    make_slow(orders[1], seconds=30)
    assert "finished orders" not in retain()
    assert [is_stored(order_id) for order_id in orders] == [False, True, False, False]
    failure = RetentionFailure.objects.get()
    assert (failure.part, failure.error) == (
        "finished orders",
        "1 row could not be handled within 100 ms",
    )
    run("DROP TRIGGER slow_delete ON orders_orderprocess")
    assert retain()["finished orders"] == 1
    assert not RetentionFailure.objects.exists()
    assert ArchivedOrder.objects.count() == 4


def test_a_pass_that_runs_out_of_time_is_continued_by_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """So orders that stay do not hide the others, although each pass has time for one order only."""
    monkeypatch.setattr(moving, "MOVING", 0.0)
    monkeypatch.setattr(retention, "_positions", {})  # its last walk stops half way
    monkeypatch.setattr(brief_batches, "Pace", lambda: Pace(size=1, largest=1))
    staying = [finished_order(days=days) for days in (99, 98)]
    for order_id in staying:
        make_alert(order_id)
    moving_ones = [finished_order(days=days) for days in (97, 96)]
    moved = [retain()["finished orders"] for _ in range(10)]
    assert sum(moved) == 2
    assert [is_stored(order_id) for order_id in (*staying, *moving_ones)] == [True, True, False, False]
