"""What search engines, chats and emails read of a product's page: linked data, and its picture as PNG."""

import json
import struct

import pytest
from django.conf import settings
from django.test import Client

from orders.shop.demo.catalogue import load_catalogue
from orders.shop.models import Product
from tests.web.markup import Markup

HOST = str(settings.CONFIG.public_url)
PAGE = f"{HOST}/posters/first-sun/"


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue."""
    load_catalogue()


def linked_data(client: Client, url: str = "/posters/first-sun/") -> dict[str, object]:
    """The linked data of a page."""
    _, _, rest = client.get(url).content.decode().partition('<script type="application/ld+json">')
    return dict(json.loads(rest.partition("</script>")[0]))


def test_a_poster_is_described_with_each_of_its_offers(client: Client) -> None:
    data = linked_data(client)
    offers = data.pop("offers")
    image = data.pop("image")
    assert data == {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": "First Sun",
        "description": Product.objects.get(sku="first-sun").description,
        "sku": "first-sun",
        "url": PAGE,
        "brand": {"@type": "Brand", "name": Product.objects.get(sku="first-sun").artist},
    }
    assert isinstance(image, str) and image.startswith(f"{PAGE[:-1]}.png?v=")
    assert isinstance(offers, list)
    sold = Product.objects.filter(sku__startswith="first-sun").order_by("price", "sku")
    assert [(offer["sku"], offer["price"], offer["url"]) for offer in offers] == [
        (row.sku, f"{row.price / 100:.2f}", f"{PAGE}?choice={row.sku}") for row in sold
    ]
    assert {offer["priceCurrency"] for offer in offers} == {"EUR"}
    assert {offer["availability"] for offer in offers} == {"https://schema.org/InStock"}


def test_no_text_of_a_product_ends_the_block(client: Client) -> None:
    hostile = "</script><script>alert(1)</script>&\u2028"
    Product.objects.filter(sku="first-sun").update(title=hostile, description=hostile)
    assert linked_data(client)["name"] == hostile
    assert "<script>alert" not in client.get("/posters/first-sun/").content.decode()


def test_the_page_names_a_picture_that_everybody_can_show(client: Client) -> None:
    properties = Markup(client.get("/posters/first-sun/").content.decode()).properties
    picture = client.get(properties["og:image"].removeprefix(HOST))
    assert (properties["og:image:width"], properties["og:image:height"]) == ("900", "1200")
    assert (picture["Content-Type"], picture["Cache-Control"]) == (
        "image/png",
        "public, max-age=31536000, immutable",
    )
    assert picture.content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture.content[16:24]) == (900, 1200)


def test_the_picture_of_nothing_is_not_found(client: Client) -> None:
    assert client.get("/posters/nothing.png").status_code == 404
