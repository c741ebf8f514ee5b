"""The product catalogue, which anybody may read."""

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from orders.shop.models import Product
from tests.web.helpers import assert_problem, mistakes

PRODUCTS = "/api/v1/products"


def test_a_product_has_the_documented_form(anybody: APIClient) -> None:
    assert anybody.get(f"{PRODUCTS}/tidal-lines").json() == {
        "sku": "tidal-lines",
        "title": "Tidal Lines",
        "artist": "Maren Oost",
        "description": "",
        "price": {"amount": 3900, "currency": "EUR"},
        "links": {"self": "/api/v1/products/tidal-lines"},
    }


@pytest.mark.parametrize("sku", ["sold-out", "nothing", "%ff", "a%0ab"])
def test_a_product_that_is_not_for_sale_is_not_found(anybody: APIClient, sku: str) -> None:
    assert_problem(anybody.get(f"{PRODUCTS}/{sku}"), "not_found")


def test_pages_list_every_product_once(anybody: APIClient) -> None:
    Product.objects.bulk_create(
        Product(sku=f"p{number:02}", title="P", artist="A", price=1) for number in range(5)
    )
    seen, url = [], f"{PRODUCTS}?page_size=3"
    while url:
        page = anybody.get(url).json()
        seen += [product["sku"] for product in page["results"]]
        url = page["next"]
    assert seen == ["first-sun", "p00", "p01", "p02", "p03", "p04", "tidal-lines"]


def test_a_page_takes_one_query(
    anybody: APIClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    anybody.get(PRODUCTS)  # the process now has a handful of tokens (`orders.access.purses`)
    with django_assert_num_queries(1):
        assert len(anybody.get(PRODUCTS).json()["results"]) == 2


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("page_size=0", "page_size"),
        ("page_size=101", "page_size"),
        ("page_size=1e1", "page_size"),
        ("page_size=٣", "page_size"),
        ("page_size=", "page_size"),
        (f"page_size={'9' * 5000}", "page_size"),
        ("page_size=1&page_size=2", "page_size"),
        ("sort=price", "sort"),
    ],
)
def test_an_invalid_query_is_refused(anybody: APIClient, query: str, where: str) -> None:
    assert mistakes(anybody.get(f"{PRODUCTS}?{query}")) == [where]


def test_a_head_request_has_the_headers_and_no_body(anybody: APIClient) -> None:
    response = anybody.head(PRODUCTS)
    assert (response.status_code, response.content) == (200, b"")
