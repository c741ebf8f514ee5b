"""Searching 10,000 posters: by an index, without reading the table, and a misspelt word among all their words."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from orders.engine.runtime.sql import run
from orders.shop import catalogue, nearest
from orders.shop.catalogue import PosterFilter
from tests.support.plans import plans_of, ran_by

pytestmark = pytest.mark.django_db

FILL = """
INSERT INTO orders_product (sku, size, edition, title, artist, description, price, currency, design, is_listed, rank)
SELECT 'p-' || n, '', 'open', 'Title ' || md5(n::text), 'Artist ' || md5((n % 700)::text),
       'Drawn on ' || md5((n % 3000)::text) || CASE WHEN n % 200 = 0 THEN ', by the harbour' ELSE '' END,
       1000 + n, 'EUR', jsonb_build_object('family', (ARRAY['waves', 'sun', 'grid'])[1 + n % 3]), true, n
  FROM generate_series(1, 10000) AS n
"""
OFFERS = """
INSERT INTO orders_product (sku, variant_of_id, size, edition, title, artist, description, price, currency, design,
                            is_listed, rank)
SELECT sku || offer, sku, o.size, o.edition, title, artist, '', price * times, 'EUR', '{}', true, rank
  FROM orders_product, (VALUES ('-m', '45x60', 'open', 2), ('-l', '60x80', 'open', 3), ('-ms', '45x60', 'signed', 4),
                               ('-ls', '60x80', 'signed', 5)) AS o(offer, size, edition, times)
"""
FAMILIES = ("waves", "sun", "grid")


@pytest.fixture(scope="module", autouse=True)
def full_catalogue(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Fills, commits and analyses the table once for all tests here."""
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            cursor.execute(FILL)
            cursor.execute(OFFERS)
        run("ANALYZE orders_product")
        yield
        run("TRUNCATE orders_product CASCADE")


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan's node, and all that it has under it."""
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes_of(part)


def page(text: str) -> catalogue.Shelf:
    return catalogue.shelf(poster_filter=PosterFilter(text=text), page=1, per_page=24, families=FAMILIES)


@pytest.mark.parametrize(
    ("text", "total"), [("harbour", 50), ("HARB", 50), ("harbour waves", 16), ("hippo", 0)]
)
def test_a_search_uses_the_index_of_words(text: str, total: int) -> None:
    assert page(text).total == total
    for plan in plans_of(lambda: page(text)):
        nodes = list(plan.nodes())
        if "to_tsquery" in plan.sql:
            assert "product_by_words" in {node.get("Index Name") for node in nodes}
        assert "Seq Scan" not in {node["Node Type"] for node in nodes}


@pytest.mark.parametrize("sort", ["featured", "price"])
def test_a_size_and_its_prices_are_found_in_all_offers_at_once(sort: str) -> None:
    poster_filter = PosterFilter(size="60x80", price_from=40_000, price_to=50_000, sort=sort)
    shelf = catalogue.shelf(poster_filter=poster_filter, page=1, per_page=24, families=FAMILIES)
    assert shelf.total == 2_001
    for statement in ran_by(
        lambda: catalogue.shelf(poster_filter=poster_filter, page=1, per_page=24, families=FAMILIES)
    ):
        plan = statement.explain("ANALYZE, ")
        scans = [node for node in nodes_of(plan["Plan"]) if node["Node Type"] == "Seq Scan"]
        assert {node["Actual Loops"] for node in scans} <= {1}


@pytest.mark.parametrize("sort", ["featured", "price", "-price"])
def test_only_prices_that_can_be_bought_count_and_all_offers_are_read_at_once(sort: str) -> None:
    run("UPDATE orders_product SET stock = 0, stock_read_at = now() WHERE variant_of_id IS NULL")
    poster_filter = PosterFilter(price_to=11_000, sort=sort)

    def shelf() -> catalogue.Shelf:
        return catalogue.shelf(poster_filter=poster_filter, page=1, per_page=24, families=FAMILIES)

    assert shelf().total == 4_500
    prices = [card.price.amount for card in shelf().posters]
    lowest = [2 * (1_000 + n) for n in range(1, 25)]
    assert prices == (lowest if sort != "-price" else [11_000 - 2 * n for n in range(24)])
    for statement in ran_by(shelf):
        plan = statement.explain("ANALYZE, ")
        scans = [node for node in nodes_of(plan["Plan"]) if node["Node Type"] == "Seq Scan"]
        assert {node["Actual Loops"] for node in scans} <= {1}


def test_a_misspelt_word_is_found_among_the_words_of_all_posters() -> None:
    meant = nearest.nearest(PosterFilter(text="drawn habrour"), limit=8)
    assert meant is not None
    assert (meant.text, meant.is_as_typed, meant.total, len(meant.posters)) == ("drawn harbour", False, 50, 8)
