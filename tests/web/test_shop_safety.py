"""Pictures and their URLs; and no product's data can do harm in a page."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from django.db import OperationalError
from django.test import Client, override_settings
from django.urls import reverse

from orders.shop import catalogue as catalogue_selectors
from orders.shop.demo.catalogue import load_catalogue
from orders.shop.models import Product
from tests.web.markup import Markup

HOSTILE = "\"'><script>alert(1)</script>{{ 7 }}"


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue."""
    load_catalogue()


# Pictures.


def test_a_picture_with_its_fingerprint_may_be_cached_for_ever(client: Client) -> None:
    page = client.get("/posters/tidal-lines/").content.decode()
    (url, *_) = re.findall(r"/posters/tidal-lines\.svg\?v=[0-9a-f]{12}", page)
    response = client.get(url)
    assert response.headers["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert "immutable" in response.headers["Cache-Control"]
    assert "Set-Cookie" not in response.headers
    ElementTree.fromstring(response.content)
    again = client.get(url, headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_picture_without_its_fingerprint_is_cached_for_minutes(client: Client) -> None:
    for url in ("/posters/tidal-lines.svg", "/posters/tidal-lines.svg?v=0123456789ab"):
        assert client.get(url).headers["Cache-Control"] == "public, max-age=300"


def test_a_variant_has_the_picture_of_its_poster(client: Client) -> None:
    picture = client.get("/posters/tidal-lines.svg").content
    assert client.get("/posters/tidal-lines-60x80.svg").content == picture


def test_the_picture_of_a_product_no_longer_sold_remains_for_its_buyers(client: Client) -> None:
    Product.objects.filter(sku="tidal-lines").update(is_listed=False)
    assert client.get("/posters/tidal-lines.svg").status_code == 200


def test_every_image_has_its_size_and_a_text_and_those_below_are_lazy(client: Client) -> None:
    images = Markup(client.get("/?sort=title").content.decode()).images
    assert len(images) == 24
    for image in images:
        assert (image["width"], image["height"], image["loading"]) == ("600", "800", "lazy")
        assert image["alt"]


@pytest.mark.parametrize("path", ["/", "/?family=sun", "/posters/tidal-lines/"])
def test_a_page_names_itself_by_its_public_url_whatever_host_it_was_asked_for(
    path: str, client: Client, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    page = client.get(path, headers={"Host": "evil.example"}).content.decode()
    assert settings.CONFIG.public_url in page
    assert "evil.example" not in page


# Hostile data.


@pytest.fixture
def hostile() -> Product:
    """A product whose every field is hostile."""
    design = {"family": HOSTILE, "seed": HOSTILE, "palette": [HOSTILE] * 5, "form": HOSTILE}
    return Product.objects.create(
        sku="hostile",
        title=HOSTILE,
        artist=HOSTILE,
        description=HOSTILE,
        price=1,
        design=design,
        rank=0,
        size=HOSTILE[:12],
    )


PAGES = (
    "/",
    "/?q=maren",
    "/?q=nothing-at-all",
    "/posters/tidal-lines/",
    "/posters/hostile/",
    "/no-such-page",
)


@pytest.mark.parametrize("path", [*PAGES, f"/?q={HOSTILE}", f"/posters/hostile/?choice={HOSTILE}"])
def test_no_page_has_an_inline_script_or_style_or_an_outside_url(
    client: Client, hostile: Product, path: str, settings: Any
) -> None:
    response = client.get(path)
    text = response.content.decode()
    markup = Markup(text)
    assert markup.offences == []
    assert "<script>" not in text
    assert not [
        address
        for address in markup.addresses
        if re.match(r"(?:https?:)?//|javascript:|data:", address.removeprefix(settings.CONFIG.public_url))
    ]
    assert "default-src 'self'" in response.headers["Content-Security-Policy"]
    assert "unsafe" not in response.headers["Content-Security-Policy"]


def test_djangos_page_of_an_error_may_have_its_own_style_and_only_in_debug(client: Client) -> None:
    with override_settings(DEBUG=True):
        answer = client.get("/no/such/page/")
        assert (answer.status_code, b"<style>" in answer.content) == (404, True)
        assert "style-src 'self' 'unsafe-inline'" in answer["Content-Security-Policy"]
        assert "unsafe" not in client.get("/cart/")["Content-Security-Policy"]
    assert "unsafe" not in client.get("/no/such/page/")["Content-Security-Policy"]


@pytest.mark.parametrize(
    "design", [None, [], 7, {"family": HOSTILE}, {"palette": [HOSTILE] * 9, "family": "sun"}]
)
def test_a_hostile_design_is_drawn_harmlessly(client: Client, hostile: Product, design: Any) -> None:
    if design is not None:
        Product.objects.filter(sku="hostile").update(design=design)
    for path in ("/", "/posters/hostile/"):
        assert client.get(path).status_code == 200
    picture = client.get("/posters/hostile.svg").content.decode()
    ElementTree.fromstring(picture)
    assert "script" not in picture


def test_while_the_database_is_unavailable_a_page_says_so_and_reloads(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise OperationalError("the server is away")

    monkeypatch.setattr(catalogue_selectors, "shelf", fail)
    response = client.get("/")
    assert response.status_code == 503
    assert response.headers["Retry-After"] == response.headers["Refresh"]
    assert int(response.headers["Retry-After"]) in range(1, 31)
    assert "We can’t show this page right now" in response.content.decode()


def test_an_error_shows_a_page_and_not_its_cause(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(catalogue_selectors, "shelf", fail)
    client.raise_request_exception = False
    response = client.get("/")
    assert response.status_code == 500
    assert "came off its hook" in response.content.decode()
    assert "secret detail" not in response.content.decode()


def test_the_design_system_is_for_developers_only(client: Client) -> None:
    assert client.get(reverse("shop:design")).status_code == 404
    with override_settings(DEBUG=True):
        assert client.get(reverse("shop:design")).status_code == 200
