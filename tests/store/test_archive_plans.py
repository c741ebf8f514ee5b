"""A search of 30,000 archived orders, and an erasure, find their rows by an index and read no whole table."""

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from orders.engine.runtime.sql import database_now, run
from orders.models import ArchivedOrder
from orders.retention import moving
from orders.selectors.desk import archive_search
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_search import Search
from orders.selectors.desk.standing import RetryLimits
from orders.services.operators import erasing_orders
from orders.shop.models import Product
from tests.support.plans import plans_of

pytestmark = pytest.mark.django_db

FILL = """
    INSERT INTO orders_archivedorder (order_id, email, state, total, currency, placed_at, finished_at, archived_at,
                                      last_event, skus, document)
    SELECT lpad(to_hex(n), 32, '0')::uuid, 'customer-' || n / 3 || '@example.org',
           CASE WHEN n % 20 = 0 THEN 'compensated' ELSE 'processed' END, 1000 + n % 5000, 'EUR',
           now() - n * interval '1 minute', now() - n * interval '1 minute', now() - n * interval '1 second', n,
           ARRAY['poster-' || n % 3000, 'poster-' || n % 7],
           jsonb_build_object('process', jsonb_build_object('order_id', n), 'order', NULL, 'lines', '[]'::jsonb,
                              'steps', '[]'::jsonb, 'events', '[]'::jsonb, 'filler', repeat(md5(n::text), 20))
      FROM generate_series(1, 30000) AS n;
    INSERT INTO orders_outgoingmessage (kind, channel, recipient, arguments, order_id, priority, state, attempts,
                                        give_up_at, ended_at, error)
    SELECT 'order_link', 'email', 'customer-' || n || '@example.org', '{}', lpad(to_hex(n), 32, '0')::uuid, 1, 'sent',
           1, now(), now(), ''
      FROM generate_series(1, 30000) AS n
"""
BIG = {"orders_archivedorder", "orders_outgoingmessage"}


@pytest.fixture(scope="module", autouse=True)
def full_archive(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Fills, commits and analyses the tables once for all tests here."""
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            cursor.execute(FILL)
        run(f"ANALYZE {', '.join(sorted(BIG))}")
        yield
        run(f"TRUNCATE {', '.join(sorted(BIG))}")


def whole_tables(act: Callable[[], object]) -> set[str]:
    """The big tables that an act reads from beginning to end, or sorts as a whole."""
    read = set()
    for plan in plans_of(act):
        for node in plan.nodes():
            if node["Node Type"] == "Seq Scan" and node["Relation Name"] in BIG:
                read.add(node["Relation Name"])
            if node["Node Type"] == "Sort" and node["Plan Rows"] > 5_000:
                read.add(f"a sort of {node['Plan Rows']} rows")
    return read


def test_no_search_of_the_archive_reads_all_of_it() -> None:
    Product.objects.create(sku="poster-5", title="Common", artist="A", price=1)
    Product.objects.create(sku="poster-2222", title="Rare", artist="A", price=1)
    User.objects.create(username="ada")
    searches = {
        "everything": OrderFilter(),
        "state": OrderFilter(state="compensated"),
        "age": OrderFilter(older="10d"),
        "an id's end": OrderFilter(q="000000007531"),
        "email": OrderFilter(q="customer-77@example.org"),
        "total": OrderFilter(q="12.34"),
        "a common product": OrderFilter(q="Common"),
        "a rare SKU": OrderFilter(q="poster-2222"),
        "an account": OrderFilter(q="ada"),
        "what there is not": OrderFilter(q="nothing"),
    }
    whole = {}
    for name, order_filter in searches.items():
        whole[name] = whole_tables(lambda order_filter=order_filter: read_page(order_filter))
    assert whole == {name: set() for name in searches}


def read_page(order_filter: OrderFilter) -> None:
    archive_search.page(
        order_filter,
        after=None,
        archived_after=archive_search.NEWEST,
        limit=0,
        retry_limits=RetryLimits(),
        now=database_now(),
    )
    archive_search._newest(Search(order_filter, database_now()), archive_search.NEWEST, 51)


def test_a_page_deep_in_the_archive_begins_at_its_position() -> None:
    deep = archive_search._newest(Search(OrderFilter(older="15d"), database_now()), archive_search.NEWEST, 1)
    position = archive_search._position(deep.rows[0])
    plans = plans_of(lambda: archive_search._newest(Search(OrderFilter(), database_now()), position, 51))
    assert [plan.indexes for plan in plans[1:]] == [{"archived_by_state"}] * 2
    assert not any(plan.sorts for plan in plans)


def test_an_erasure_finds_a_customers_orders_and_messages_by_their_indexes() -> None:
    values = {"pattern": "nobody", "short": "erased"}
    acts: dict[str, Callable[[], object]] = {
        "find": lambda: erasing_orders.find_orders("customer-77@example.org", []),
        "find an account's": lambda: erasing_orders.find_orders("customer-77@example.org", [1]),
        "choose": lambda: erasing_orders.choose_orders("customer-77@example.org", [1], UUID(int=0), 50),
        "names": lambda: erasing_orders.find_names("customer-77@example.org", [1]),
        "erase": lambda: erasing_orders.erase_orders([UUID(int=77)], values),
    }
    assert {name: whole_tables(act) for name, act in acts.items()} == {name: set() for name in acts}


def test_archived_orders_are_deleted_by_their_age() -> None:
    oldest = ArchivedOrder.objects.order_by("archived_at").values_list("archived_at", flat=True)[9]
    assert whole_tables(lambda: moving.delete_archived(before=oldest)) == set()
    assert ArchivedOrder.objects.count() == 30_000 - 9
