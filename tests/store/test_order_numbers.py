"""No two orders have one number, whichever way they are placed, and a number finds its order wherever that is."""

from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from types import SimpleNamespace
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection
from uuid_utils.compat import uuid7

from orders.business import placing
from orders.business.batch_placing import KeyedOrder, post_orders
from orders.business.order_ids import another_order_id, derived_order_id
from orders.business.placing import NewOrder, post_order
from orders.engine.channels import submissions
from orders.engine.runtime.sql import fetch, run
from orders.fields.order_numbers import number_value, spoken_number
from orders.models import ArchivedOrder, Order, SetAside, SubmissionKey, SubmissionMessage
from orders.models.channel import NUMBER_IN_SQL
from orders.retention import moving
from orders.selectors.order_numbers import orders_with_number
from tests.support.businesses import Bakery
from tests.support.two_sessions import all_at_once

pytestmark = pytest.mark.django_db
MIGRATION = import_module("orders.migrations.0097_order_numbers_by_index")
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
CLIENT = "user:1"
FIRST, SECOND = "k11782", "k143059"
"""Two keys of the client whose ids have one number: found among 150,000."""
OLD, NEW = TWINS = [derived_order_id(client=CLIENT, key=key) for key in (FIRST, SECOND)]
CAKE = NewOrder(kind=Bakery, request={"cake": "sponge", "icing": "none", "for": "Ada"}, is_described=True)


def by_itself(key: str) -> UUID:
    return post_order(client=CLIENT, order=CAKE, key=key).order_id


def together(key: str) -> UUID:
    (outcome,) = post_orders([KeyedOrder(CLIENT, key, CAKE)])
    assert not isinstance(outcome, Exception)
    return outcome.order_id


WAYS = pytest.mark.parametrize("place", [by_itself, together])


def test_the_database_works_a_number_out_as_python_does() -> None:
    ids = [UUID(int=0), UUID(int=2**128 - 1), OLD, *(uuid7() for _ in range(500))]
    rows = fetch(f"SELECT {NUMBER_IN_SQL.format(order_id='id')} FROM unnest(%s::uuid[]) AS ids (id)", [ids])
    assert [number for (number,) in rows] == [number_value(order_id) for order_id in ids]


@WAYS
def test_an_order_whose_number_is_taken_gets_another_id_and_keeps_it(place: Callable[[str], UUID]) -> None:
    assert spoken_number(OLD) == spoken_number(NEW)
    assert place(FIRST) == OLD
    other = place(SECOND)
    assert other == another_order_id(NEW)
    assert spoken_number(other) != spoken_number(OLD)
    assert place(SECOND) == other, "a replay of its key"
    assert [place(key) for key in (FIRST, SECOND)] == [OLD, other]
    assert list(SubmissionMessage.objects.order_by("id").values_list("order_id", flat=True)) == [OLD, other]


def test_of_two_that_are_placed_in_one_statement_one_gets_another_id() -> None:
    outcomes = post_orders([KeyedOrder(CLIENT, key, CAKE) for key in (FIRST, SECOND)])
    ids = {outcome.order_id for outcome in outcomes if not isinstance(outcome, Exception)}
    assert ids in ({OLD, another_order_id(NEW)}, {NEW, another_order_id(OLD)})
    assert SubmissionMessage.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_of_two_that_are_placed_at_once_one_gets_another_id() -> None:
    ids = all_at_once(2, lambda place: by_itself((FIRST, SECOND)[place]))
    assert len({spoken_number(order_id) for order_id in ids}) == 2
    assert len(set(ids) & set(TWINS)) == 1


@WAYS
def test_an_order_that_was_lost_with_its_key_has_its_number_again(place: Callable[[str], UUID]) -> None:
    """A database that was restored to an earlier moment (docs/adr/0024)."""
    place(FIRST)
    first = place(SECOND)
    for table in (SubmissionKey, SubmissionMessage):
        table.objects.filter(order_id=first).delete()
    assert place(SECOND) == first


def test_an_order_without_a_key_takes_no_number_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    by_itself(FIRST)
    free = uuid7()
    ids = iter([NEW, free])
    monkeypatch.setattr(placing, "uuid7", lambda: next(ids))
    assert post_order(client="guest", order=CAKE, key=None).order_id == free
    assert orders_with_number(spoken_number(free)) == [free]


def test_a_message_that_is_posted_again_is_still_a_message() -> None:
    order_id = uuid7()
    assert all(submissions.post(order_id=order_id, client=CLIENT, body={}) for _ in range(2))
    assert (SubmissionMessage.objects.count(), SubmissionKey.objects.count()) == (2, 1)


def test_an_order_whose_key_was_erased_is_not_placed_again() -> None:
    order_id = by_itself(FIRST)
    SubmissionKey.objects.update(key="erased")
    assert [by_itself(FIRST), together(FIRST)] == [order_id, order_id]
    assert (SubmissionMessage.objects.count(), SubmissionKey.objects.count()) == (1, 1)


def test_a_number_is_free_once_its_order_is_gone_for_good() -> None:
    by_itself(FIRST)
    SubmissionMessage.objects.all().delete()
    archive(OLD)
    assert orders_with_number(spoken_number(OLD)) == [OLD]
    moving.delete_archived(before=datetime(2100, 1, 1, tzinfo=UTC))
    assert orders_with_number(spoken_number(OLD)) == []
    assert by_itself(SECOND) == NEW


def archive(order_id: UUID) -> None:
    ArchivedOrder.objects.create(
        order_id=order_id, state="processed", document={}, placed_at=MOMENT, finished_at=MOMENT
    )


def test_a_number_is_found_by_an_index() -> None:
    run(
        "INSERT INTO orders_submissionkey (client, body_hash, order_id) SELECT 'c', '', gen_random_uuid()"
        " FROM generate_series(1, 2000)"
    )
    run("ANALYZE orders_submissionkey")
    with connection.execute_wrapper(explained := Explained()):
        orders_with_number(spoken_number(OLD))
    assert "one_order_per_number" in explained.plan and "shared_number" in explained.plan
    assert "Seq Scan" not in explained.plan


class Explained:
    """Explains what a statement does instead of doing it."""

    plan = ""

    def __call__(self, execute, sql, params, many, context):  # type: ignore[no-untyped-def]
        with connection.cursor().cursor as cursor:
            self.plan = "\n".join(line for (line,) in cursor.execute(f"EXPLAIN {sql}", params).fetchall())
        return execute(sql, params, many, context)


def test_orders_from_before_get_their_numbers_and_those_that_share_one_are_both_found() -> None:
    """As an older release has left them: without a key there was no record."""
    run("DROP INDEX one_order_per_number")
    queued, aside, inserted = (uuid7() for _ in range(3))
    archive(OLD)
    Order.objects.create(id=NEW, placed_at=MOMENT)
    Order.objects.create(id=inserted, placed_at=MOMENT)
    for _ in range(2):
        SubmissionMessage.objects.create(order_id=queued, client=CLIENT, body={})
    SetAside.objects.create(order_id=aside, client="guest", body={}, reason="r", posted_at=MOMENT)
    SubmissionKey.objects.create(client=CLIENT, key="k", body_hash="h", order_id=inserted)
    for _ in range(2):
        MIGRATION.register(apps, SimpleNamespace(connection=connection))
        run(MIGRATION.MARK)
    assert SubmissionKey.objects.count() == 5
    assert SubmissionKey.objects.get(order_id=queued).client == CLIENT
    run(
        f"CREATE UNIQUE INDEX ON orders_submissionkey (({MIGRATION.IN_SQL.format(order_id='order_id')}))"
        " WHERE NOT shares_number"
    )
    assert set(orders_with_number(spoken_number(OLD))) == {OLD, NEW}
    assert SubmissionKey.objects.filter(shares_number=True).count() == 1
    for order_id in (queued, aside, inserted):
        assert orders_with_number(spoken_number(order_id)) == [order_id]
