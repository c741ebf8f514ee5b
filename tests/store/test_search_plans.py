"""The list of orders with 30,000 of them stored: what it searches for is found by an index or among the newest."""

from collections.abc import Iterator
from itertools import islice

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from orders.engine.runtime.sql import database_now, run
from orders.selectors.desk import order_search, search
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_search import FIRST_CHUNK, Search
from orders.selectors.desk.standing import RetryLimits
from tests.support.order_listing import listing
from tests.support.plans import blocks_of, plans_of, ran_by

pytestmark = pytest.mark.django_db

# A tenth of the 15,000 customers are called Bea and the others Anna; every third order is of the shop's own domain.
FILL = """
CREATE TEMP TABLE made AS
SELECT n, md5(n::text)::uuid AS id, now() - n * interval '1 minute' AS at,
       'c' || n % 15000 || CASE WHEN n % 3 = 0 THEN '@shop.example' ELSE '@mail.example' END AS email,
       CASE WHEN n % 10 = 0 THEN 'bea' ELSE 'anna' END AS name
  FROM generate_series(1, 30000) AS n;
INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns, priority,
                                 reply_to, announced, created_at, started_at, finished_at)
SELECT id, 'bake-cake', 3, 'complete', 'processed', 0, 0, 5, '', true, at, at, at FROM made;
INSERT INTO orders_order (id, email, currency, total, placed_at)
SELECT id, email, 'EUR', n % 20000, at FROM made;
INSERT INTO orders_orderline (order_id, sku, title, quantity, unit_price)
SELECT id, CASE WHEN n % 4 = 0 THEN 'common' ELSE 'rare-' || n % 3000 END, 'A poster', 1, 1 FROM made;
INSERT INTO orders_customerterm (email, term, is_name)
SELECT DISTINCT email, term, is_name
  FROM made CROSS JOIN LATERAL (
       VALUES (email, false), (substring(email FROM '@.*'), false), (name, true)) AS terms (term, is_name);
DROP TABLE made
"""
QUERIES = (
    *("", "email:@mail.example", "email:c77@shop.example", "email:c77", "customer:anna", "customer:bea"),
    *("anna", "bea", "nobody", "-customer:anna", "sku:common", "sku:rare-77", "total:>0", "total:>199.90"),
    *("1.77", "customer:bea sku:common total:>100", "sku:common -total:>1"),
)
BIG = {"orders_orderprocess", "orders_order", "orders_orderline", "orders_customerterm"}
MOST_BLOCKS = 80_000
"""Of a page with its counts. The dearest is of 3,000 orders, each of which is looked up by its id in three tables, once
or twice. To look up all 30,000 like that would be ten times as much."""


@pytest.fixture(scope="module", autouse=True)
def full_store(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Fills, commits and analyses the tables once for all tests here."""
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            cursor.execute(FILL)
        run(f"ANALYZE {', '.join(sorted(BIG))}")
        yield
        run(f"TRUNCATE {', '.join(sorted(BIG))} CASCADE")


@pytest.mark.parametrize("query", QUERIES)
def test_no_page_of_a_query_reads_a_whole_table(query: str) -> None:
    act = listing(query)
    whole = {
        node["Relation Name"]
        for plan in plans_of(act)
        for node in plan.nodes()
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in BIG
    }
    assert whole == set()
    assert blocks_of(act) < MOST_BLOCKS


def test_what_a_word_stands_for_is_found_once_for_a_page_and_its_counts() -> None:
    statements = [statement.sql for statement in ran_by(listing("customer:bea"))]
    assert sum("FROM orders_customerterm" in sql for sql in statements) == 1
    assert sum("lower(email) = sought.email" in sql for sql in statements) == 1


def test_the_orders_that_an_index_found_are_looked_up_once_for_a_page_and_its_count() -> None:
    for query in ("sku:rare-77", "email:c77", "customer:bea"):
        statements = [statement.sql for statement in ran_by(listing(query))]
        assert sum("orders_orderprocess" in sql and "unnest" in sql for sql in statements) == 1, query
    order_search = Search(OrderFilter(q="email:c77"), database_now())
    number = order_search.count(10_000)
    assert number == len(order_search.read(None, 1_000).processes) == order_search.count(10_000) > 50
    assert Search(OrderFilter(q="email:nobody"), database_now()).count(10_000) == 0


def test_no_order_is_looked_for_by_a_word_that_more_customers_have_than_orders_are_looked_for() -> None:
    statements = [statement.sql for statement in ran_by(listing("customer:anna"))]
    assert not any("lower(email) = sought.email" in sql for sql in statements)


def test_an_export_reads_few_orders_first_and_no_steps_of_those_that_have_ended() -> None:
    rows = search.rows(OrderFilter(), most=20_000, retry_limits=RetryLimits(), now=database_now())
    first = ran_by(lambda: next(rows))
    assert any(f"LIMIT {FIRST_CHUNK}" in statement.sql for statement in first)
    rest = ran_by(lambda: list(islice(rows, 2_000)))
    assert not any("orders_stepstate" in statement.sql for statement in [*first, *rest])


def test_a_page_reads_of_each_state_only_what_is_among_the_newest() -> None:
    """The newest 50 orders are read, and not 50 of each state."""
    order_search = Search(OrderFilter(), database_now())
    assert blocks_of(lambda: order_search.read(None, 50)) < 100


def test_no_order_is_missed_because_others_have_several_lines_that_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(order_search, "MOST_FOUND", 3)
    run(
        """
        INSERT INTO orders_orderline (order_id, sku, title, quantity, unit_price)
        SELECT id, 'set-' || n, 'A poster', 1, 1
          FROM (SELECT id, row_number() OVER (ORDER BY placed_at DESC) AS place FROM orders_order) AS placed
          JOIN generate_series(1, 6) AS n ON CASE WHEN n < 5 THEN 1 ELSE n - 3 END = place
         ORDER BY n
        """
    )
    query = Search(OrderFilter(q="sku:set"), database_now())
    assert len(query.read(None, 50).processes) == 3
