"""A list of orders looks at so many orders as it may, however many its client has, and finds each by an index."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from orders.engine.runtime.sql import database_now, fetch, run
from orders.engine.runtime.statements import FREQUENT_ONLY, PREPARED_AFTER
from orders.selectors import order_lists
from orders.selectors.listed_orders import PARTS
from orders.selectors.order_lists import order_list, order_summaries
from orders.selectors.paging import Position
from orders.selectors.selections import Selection
from tests.support.plans import blocks_of, full_tables, plans_of

pytestmark = pytest.mark.django_db

__all__ = ["full_tables"]

BIG = ("orders_order", "orders_orderprocess", "orders_stepstate", "orders_event", "orders_archivedorder")
ARCHIVED = """
    INSERT INTO orders_archivedorder (order_id, customer_id, email, state, total, currency, placed_at, finished_at,
                                      last_event, skus, document)
    SELECT lpad(to_hex(n), 32, '0')::uuid, %s, '', 'processed', 1000, 'EUR', now() - n * interval '1 hour', now(), n,
           ARRAY['poster'], jsonb_build_object(
               'process', jsonb_build_object('workflow', 'bake-cake', 'version', 1, 'goal', 'complete',
                                             'failure_count', 0),
               'order', jsonb_build_object('title', 'cake', 'inserted_at', now()), 'lines', '[]'::jsonb,
               'steps', '[]'::jsonb, 'events', jsonb_build_array(jsonb_build_object('at', now(), 'id', n)))
      FROM generate_series(1, 10000) AS n
"""
SCATTER = """
    UPDATE orders_order SET customer_id = %s + 1 + (random() * 1999)::int WHERE placed_at < now() - interval '2 days'
"""
"""Has the older orders belong to the 2,000 users that were made last."""
LOOKED_AT = 200
BLOCKS = 40
"""Of each order that is looked at, at most: its row, process, steps, events and document, with their indexes."""
BLOCKS_OF_A_SUMMARY = 18
"""Of each order on a page, at most: its row in the list and in its table, its process, steps and last event."""
RARE: Mapping[str, Mapping[str, Any]] = {
    "a state": {"states": ["compensated", "error"]},
    "what it waits for": {"waiting_for": ["customer"]},
    "a step": {"step": "nothing"},
    "a SKU": {"sku": "nothing"},
    "a total": {"total_at_least": 10**9, "currency": "EUR"},
    "a subject and a state": {"subject": "nothing", "states": ["error"]},
    "a change": {"updated_after": timedelta(days=1)},
    "all of them": {
        "states": ["pending"],
        "waiting_for": ["retry"],
        "step": "mix",
        "sku": "nothing",
        "currency": "SEK",
    },
}


@pytest.fixture
def client_id(monkeypatch: pytest.MonkeyPatch) -> int:
    """A client to whom all orders belong, 30,000 of them stored and 10,000 archived."""
    user_id = User.objects.create(username="ada").pk
    run("UPDATE orders_order SET customer_id = %s", [user_id])
    run(ARCHIVED, [user_id])
    run(f"ANALYZE {', '.join(BIG)}")
    monkeypatch.setattr(order_lists, "LOOKED_AT", LOOKED_AT)
    return user_id


@pytest.fixture(autouse=True)
def own_plans(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server plans each statement for its own parameters, and may read a table whole, as for the web."""
    connection.ensure_connection()
    monkeypatch.setattr(connection.connection, "prepare_threshold", None)
    run("SET LOCAL plan_cache_mode = auto; SET LOCAL enable_seqscan = on")


@pytest.fixture
def one_plan(own_plans: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server plans each statement once for all parameters, as it does for the web what is frequent."""
    monkeypatch.setattr(connection.connection, "prepare_threshold", PREPARED_AFTER)
    run("SET LOCAL plan_cache_mode = force_generic_plan")


def selection(client_id: int, name: str, **fields: Any) -> Selection:
    values = dict(RARE[name])
    if "updated_after" in values:
        values["updated_after"] += database_now()
    return Selection(customer_id=client_id, limit=50, **values, **fields)


def whole_tables(act: Callable[[], object]) -> set[str]:
    """The big tables that an act reads from beginning to end."""
    nodes = [node for plan in plans_of(act) for node in plan.nodes() if node["Node Type"] == "Seq Scan"]
    return {node["Relation Name"] for node in nodes}.intersection(BIG)


def test_a_page_of_what_is_rare_reads_no_more_than_it_may_look_at(client_id: int) -> None:
    deep = Position(database_now() - timedelta(days=1), fetch("SELECT gen_random_uuid()")[0][0])
    for before in (None, deep):
        for name in RARE:
            read = partial(order_list, selection(client_id, name, before=before))
            assert whole_tables(read) == set(), name
            assert blocks_of(read) <= LOOKED_AT * BLOCKS, name
            page = read()
            assert (page.items, page.next is not None) == ([], True), name


def test_a_page_without_filters_reads_the_orders_that_are_on_it(client_id: int) -> None:
    read = partial(order_list, Selection(customer_id=client_id, limit=50))
    (plan,) = plans_of(read)
    assert {"order_by_customer", "archived_by_customer_and_age"} <= plan.indexes
    assert whole_tables(read) == set()
    assert blocks_of(read) <= 2 * 51 * BLOCKS


def test_a_page_reads_nothing_of_places_where_its_orders_cannot_be(client_id: int) -> None:
    for plan in plans_of(partial(order_list, selection(client_id, "what it waits for"))):
        assert "orders_order" in plan.sql
        assert not {"orders_archivedorder", "orders_submissionmessage", "orders_setaside"} & {
            *plan.sql.split()
        }


@pytest.mark.usefixtures("one_plan")
def test_a_page_reads_no_more_than_its_orders_by_a_plan_that_is_made_for_all_clients_either(
    client_id: int,
) -> None:
    User.objects.bulk_create(User(username=str(number)) for number in range(2_000))
    run(SCATTER, [client_id])
    run("ANALYZE orders_order")
    deep = Position(database_now() - timedelta(days=1), fetch("SELECT gen_random_uuid()")[0][0])
    for before in (None, deep):
        for parts in ((), PARTS):
            read = partial(order_list, Selection(customer_id=client_id, limit=50, before=before), parts)
            assert len(read().items) == 50
            assert whole_tables(read) == set()
            assert blocks_of(read) <= 51 * (BLOCKS if parts else BLOCKS_OF_A_SUMMARY)


def test_only_lists_without_filters_are_planned_once_for_all_clients(
    client_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection.connection, "prepare_threshold", FREQUENT_ONLY)
    prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement ~ 'orders_archivedorder'"
    before = fetch(prepared)[0][0]
    for limit in (50, 20):
        order_list(Selection(customer_id=client_id, limit=limit))
        for name in RARE:
            order_list(selection(client_id, name))
    assert fetch(prepared) == [(before + 1,)]


def test_summaries_read_the_orders_that_are_asked_for(client_id: int) -> None:
    ids = [
        order_id
        for table, column in (("order", "id"), ("archivedorder", "order_id"))
        for (order_id,) in fetch(f"SELECT {column} FROM orders_{table} LIMIT 25")
    ]
    read = partial(order_summaries, ids, client_id)
    assert len(read()) == 50
    assert whole_tables(read) == set()
    assert blocks_of(read) <= 50 * BLOCKS
