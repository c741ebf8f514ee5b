"""The product catalogue, which anybody may read."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from orders.shop.models import Product
from tests.support.order_bodies import order_body
from tests.web.helpers import assert_problem, mistakes

PRODUCTS = "/api/v1/products"


def test_a_product_has_the_documented_form(anybody: APIClient) -> None:
    assert anybody.get(f"{PRODUCTS}/tidal-lines").json() == {
        "sku": "tidal-lines",
        "title": "Tidal Lines",
        "artist": "Maren Oost",
        "description": "",
        "price": {"amount": 3900, "currency": "EUR"},
        "offers": [
            {
                "sku": "tidal-lines",
                "title": "Tidal Lines",
                "size": None,
                "edition": "open",
                "price": {"amount": 3900, "currency": "EUR"},
                "is_orderable": True,
                "availability": "in_stock",
                "stock": None,
                "edition_size": None,
            }
        ],
        "links": {"self": "/api/v1/products/tidal-lines"},
    }


@pytest.mark.parametrize("sku", ["sold-out", "nothing", "%ff", "a%0ab"])
def test_a_product_that_is_not_for_sale_is_not_found(anybody: APIClient, sku: str) -> None:
    problem = assert_problem(anybody.get(f"{PRODUCTS}/{sku}"), "not_found")
    assert problem["detail"].startswith("No product with this SKU is for sale.")


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


def variant(sku: str, of: str, price: int, **values: Any) -> None:
    Product.objects.create(
        sku=sku, variant_of_id=of, title=sku, artist="A", price=price, size=f"{price}x{price + 1}", **values
    )


def test_every_sku_that_can_be_ordered_is_among_the_offers(anybody: APIClient, ada: APIClient) -> None:
    variant("tidal-lines-s", "tidal-lines", 20)
    variant("tidal-lines-l", "tidal-lines", 9000, edition="signed")
    variant("tidal-lines-xl", "tidal-lines", 9500, is_listed=False)
    variant("sold-out-s", "sold-out", 30)
    products = {product["sku"]: product for product in anybody.get(PRODUCTS).json()["results"]}
    assert list(products) == ["first-sun", "sold-out-s", "tidal-lines"]
    lines = products["tidal-lines"]["offers"]
    assert [(offer["sku"], offer["price"]["amount"], offer["is_orderable"]) for offer in lines] == [
        ("tidal-lines-s", 20, True),
        ("tidal-lines", 3900, True),
        ("tidal-lines-l", 9000, True),
        ("tidal-lines-xl", 9500, False),
    ]
    assert (lines[0]["size"], lines[2]["edition"]) == ({"width": 20, "height": 21}, "signed")
    for offer in [offer for product in products.values() for offer in product["offers"]]:
        body = order_body(lines=[{"sku": offer["sku"], "quantity": 1}])
        answer = ada.post("/api/v1/orders", body)
        assert answer.status_code == (202 if offer["is_orderable"] else 400), offer["sku"]
    assert anybody.get(f"{PRODUCTS}/tidal-lines-l").json()["offers"] == lines


@pytest.mark.parametrize(
    ("size", "skus"), [("20x21", ["first-sun", "sold-out-s"]), ("", ["first-sun", "sold-out-s", "tidal-lines"]),
                       ("1x1", [])]
)  # fmt: skip
def test_products_are_listed_by_a_size_that_they_are_sold_in(
    anybody: APIClient, size: str, skus: list[str]
) -> None:
    variant("first-sun-s", "first-sun", 20)
    variant("sold-out-s", "sold-out", 20)
    variant("tidal-lines-s", "tidal-lines", 20, is_listed=False)
    page = anybody.get(f"{PRODUCTS}?size={size}").json()
    assert [product["sku"] for product in page["results"]] == skus


@pytest.mark.parametrize("size", ["garbage", "30 x 40", "30X40", "30x", "30x40cm", "٣x٤"])
def test_a_size_of_another_form_is_refused_with_the_form(anybody: APIClient, size: str) -> None:
    problem = assert_problem(anybody.get(f"{PRODUCTS}?size={size}"), "validation_failed")
    assert problem["errors"] == [
        {"parameter": "size", "detail": "This must be a width and a height in centimetres, such as 30x40."}
    ]


def test_a_page_takes_two_queries_whatever_its_size(
    anybody: APIClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    anybody.get(PRODUCTS)  # the process now has a handful of tokens (`orders.access.purses`)
    with django_assert_num_queries(2):
        assert len(anybody.get(PRODUCTS).json()["results"]) == 2
    variant("first-sun-s", "first-sun", 20)
    with django_assert_num_queries(2):
        assert anybody.get(PRODUCTS).json()["results"][0]["offers"][0]["sku"] == "first-sun-s"


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
        ("size=30x40x50x60x70", "size"),
    ],
)
def test_an_invalid_query_is_refused(anybody: APIClient, query: str, where: str) -> None:
    assert mistakes(anybody.get(f"{PRODUCTS}?{query}")) == [where]


def test_a_head_request_has_the_headers_and_no_body(anybody: APIClient) -> None:
    response = anybody.head(PRODUCTS)
    assert (response.status_code, response.content) == (200, b"")
