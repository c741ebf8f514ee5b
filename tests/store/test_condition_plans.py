"""Each condition of the query language, with 30,000 orders: a page looks at so many orders, and at what is theirs."""

from collections.abc import Iterator

import pytest
from django.db import connection

from orders.engine.runtime.sql import database_now, run
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_search import Search
from orders.selectors.desk.query import parse
from orders.selectors.desk.query_fields import FIELDS, STANDINGS
from tests.store import test_search_plans
from tests.support.order_listing import listing
from tests.support.plans import blocks_of, full_tables, plans_of

pytestmark = pytest.mark.django_db

__all__ = ["full_tables"]

QUERIES = (
    *("-state:processed", "state:error", "archived:yes"),
    *(f"standing:{name}" for name in STANDINGS if name != "processed"),
    *(
        "-standing:retrying",
        "step:mix",
        "step:nothing",
        "-step:mix",
        "agent:kitchen",
        "agent:nobody",
        "-agent:kitchen",
    ),
    *("waiting:kitchen", "waiting:anything", "-waiting:kitchen", "error:no", "error:other", "-error:no"),
    *("owner:olga", "acknowledged:olga", "-acknowledged:olga", "workflow:bake-cake", "workflow:other"),
    *("priority:>5", "priority:>9", "-priority:>5", "failures:>2", "-failures:>2"),
    *(
        "attempts:>0",
        "attempts:>30",
        "-attempts:>0",
        "attempts:>30 state:processed",
        "promise:late",
        "-promise:late",
    ),
    *(
        "since:yesterday",
        "-since:yesterday",
        "until:2h",
        "placed:yesterday",
        "age:>2h",
        "paused:yes",
        "paused:no",
    ),
    *("paused:mix", "-paused:mix", "account:ada", "subject:mine", "-subject:mine", "reference:PO-7"),
    *("number:7KXM-93DJ", "-number:7KXM-93DJ"),
    *("attribute:size=2", "-attribute:size=2", "id:ffff", "-id:ffff", "title:cake"),
)
"""Each field, of what many orders have, of what none has, and of what is left out. Nearly all orders here are
processed, so to count those is to read on from anywhere."""
LARGE = {"orders_order", "orders_orderprocess", "orders_stepstate", "orders_event", "orders_alert"}
MOST_BLOCKS = 40_000
"""Of a page with its counts: 2,500 orders of a state are looked at, and about eight blocks of each are read."""


@pytest.fixture(autouse=True)
def own_plan_each_time(db: None) -> Iterator[None]:
    """The server plans each statement of the web for its own parameters, and may read a table whole."""
    connection.ensure_connection()
    session = connection.connection
    before, session.prepare_threshold = session.prepare_threshold, None
    run("SET LOCAL plan_cache_mode = auto; SET LOCAL enable_seqscan = on")
    yield
    session.prepare_threshold = before


@pytest.mark.parametrize("query", QUERIES)
def test_no_condition_reads_a_whole_table(query: str) -> None:
    act = listing(query)
    whole = {
        node["Relation Name"]
        for plan in plans_of(act)
        for node in plan.nodes()
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in LARGE
    }
    assert whole == set()
    assert blocks_of(act) < MOST_BLOCKS


def test_every_field_of_the_language_is_tried() -> None:
    queries = (*QUERIES, *test_search_plans.QUERIES)
    assert {condition.name for query in queries for condition in parse(query).conditions} == set(FIELDS)


def test_an_order_is_looked_up_among_its_own_steps_and_not_among_all_that_wait_or_failed() -> None:
    """Orders of both states, none of which waits for the kitchen but those that nobody has turned to."""
    run(
        """
        UPDATE orders_stepstate SET waiting_since = now(), wanted_since = now()
         WHERE name = 'mix' AND order_id IN (SELECT order_id FROM orders_orderprocess WHERE process_state = 'pending')
        """
    )
    run("ANALYZE orders_stepstate")
    for query in ("waiting:kitchen", "step:mix", "standing:waiting_for_agent", "agent:kitchen state:error"):
        order_search = Search(OrderFilter(q=query), database_now())
        for plan in plans_of(lambda order_search=order_search: order_search.read(None, 51)):  # type: ignore[misc]
            assert plan.indexes.isdisjoint({"step_waiting_by_age", "step_failed", "step_to_settle"}), query
