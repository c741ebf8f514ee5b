"""What the shop's pages need to look right: paper under pictures, fonts of their own, filters that say what they do."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from orders.shop.models import Product

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
LARGEST_FONT = 40_000
"""Bytes."""


def page(client: Client, path: str) -> str:
    return " ".join(unescape(client.get(path).content.decode()).split())


def test_until_a_picture_has_arrived_its_paper_shows(client: Client) -> None:
    paper = "#123abc"
    Product.objects.filter(sku="tidal-lines").update(design={"family": "waves", "palette": [paper]})
    shown = page(client, "/posters/tidal-lines/")
    assert f'<path fill="{paper}" d="M0 0h3v4H0z" />' in shown
    assert len(re.findall(f'<rect fill="{paper}"', shown)) == 3  # and in the room, in each size


def test_the_colour_of_the_paper_is_a_colour_whatever_the_design_says(client: Client) -> None:
    Product.objects.filter(sku="tidal-lines").update(design={"palette": ['"/><script>', 3]})
    shown = page(client, "/posters/tidal-lines/")
    assert '<path fill="#f4efe6" d="M0 0h3v4H0z" />' in shown


def test_a_line_of_the_cart_has_a_button_for_one_more_and_one_less(client: Client) -> None:
    def buttons() -> list[tuple[str, bool]]:
        steps = re.findall(
            r'<button class="stepper__step" name="quantity" value="(-?\d+)"( disabled)? ?>',
            page(client, "/cart/"),
        )
        return [(value, bool(disabled)) for value, disabled in steps]

    client.post("/cart/add/", {"sku": "tidal-lines"})
    assert buttons() == [("0", True), ("2", False)]
    answer = client.post("/cart/change/", {"sku": "tidal-lines", "quantity": "99"})
    assert answer["Location"] == "/cart/#line-tidal-lines"
    assert buttons() == [("98", False), ("100", True)]


def test_the_price_filter_says_which_price_it_compares(client: Client) -> None:
    shown = page(client, "/?min=40&max=60")
    assert "Shows the posters that you can buy at this price in the size you choose" in shown
    assert set(map(int, re.findall(r"from €(\d+)", shown))) <= set(range(40, 61))


def test_fonts_are_small_free_and_our_own() -> None:
    folder = Path(settings.BASE_DIR) / "static"
    css = (folder / "css/fonts.css").read_text()
    urls = re.findall(r'url\("([^"]+)"\)', css)
    fonts = {(folder / "css" / url).resolve() for url in urls}
    assert fonts == set((folder / "fonts").glob("*.woff2"))
    assert all(font.stat().st_size <= LARGEST_FONT for font in fonts)
    assert css.count("font-display: swap") == len(fonts)
    assert "SIL Open Font License, Version 1.1" in (folder / "fonts/fraunces-OFL.txt").read_text()


@pytest.mark.parametrize(
    "query", ["?q=juno&sort=price&min=40&page=2", "?q=juno&sort=price&size=30x40&max=90"]
)
def test_size_and_price_are_cleared_with_a_link_that_keeps_the_rest(client: Client, query: str) -> None:
    html = client.get(f"/{query}").content.decode()
    links = re.findall(r'<a class="chip"\s+href="([^"]*)">\s*<svg.*?</svg>\s*Clear', html, re.DOTALL)
    assert links == ["?q=juno&amp;sort=price"]
    assert "Clear" not in client.get("/?q=juno&sort=price").content.decode()
