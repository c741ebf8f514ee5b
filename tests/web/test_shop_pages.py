"""The shop's public pages: what they show, at which URLs, and how many queries they take."""

import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from orders.shop import catalogue as catalogue_selectors
from orders.shop.catalogue import PosterFilter
from orders.shop.demo.catalogue import load_catalogue
from orders.shop.models import Edition, Product
from tests.web.markup import Markup


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue."""
    load_catalogue()


def titles(client: Client, query: str = "") -> list[str]:
    """The posters on a page of the catalogue, in their order."""
    response = client.get(f"/{query}")
    assert response.status_code == 200
    return [poster.title for poster in response.context["shelf"].posters]


# The catalogue.


def test_the_catalogue_shows_every_poster_once_and_no_variant(client: Client) -> None:
    shown = titles(client)
    assert len(shown) == len(set(shown)) == 24
    assert not [title for title in shown if "cm" in title]


def test_an_unlisted_poster_is_shown_nowhere(client: Client) -> None:
    Product.objects.filter(sku="first-sun").update(is_listed=False)
    assert "First Sun" not in titles(client)
    assert client.get("/posters/first-sun/").status_code == 404
    assert "First Sun" not in client.get("/posters/polar-noon/").content.decode()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?q=tidal", ["Tidal Lines"]),
        ("?q=MAREN+tidal", ["Tidal Lines"]),
        ("?q=tram", ["City Block Nine"]),
        ("?q=bauhaus&sort=title", ["Mint Machine", "Orchestra Pit", "Three Good Shapes", "Workshop Door"]),
        ("?q=100%25", []),
        ("?q=_", []),
        ("?q=hippopotamus", []),
        (
            "?family=bauhaus&sort=title",
            ["Mint Machine", "Orchestra Pit", "Three Good Shapes", "Workshop Door"],
        ),
        ("?family=sun&sort=price", ["Evening in Olive", "Sun over Salt", "First Sun", "Polar Noon"]),
        ("?family=sun&sort=-price", ["Polar Noon", "First Sun", "Sun over Salt", "Evening in Olive"]),
        ("?family=sun&sort=newest", ["Polar Noon", "Evening in Olive", "Sun over Salt", "First Sun"]),
        ("?family=sun&sort=featured", ["First Sun", "Sun over Salt", "Evening in Olive", "Polar Noon"]),
        ("?size=30x40&min=70&sort=price", ["The Minor Heron", "Signal Fires"]),
        ("?min=300&sort=price", ["Signal Fires"]),
        ("?size=60x80&max=60&sort=price", ["Small Squares, Loud"]),
        ("?q=maren&size=45x60&max=65&sort=-price", ["Tidal Lines"]),
        ("?max=29&sort=price", ["Small Squares, Loud", "City Block Nine"]),
        ("?q=juno&family=contours&min=40&max=50", ["Desert Memory"]),
    ],
)
def test_the_url_searches_filters_and_sorts(client: Client, query: str, expected: list[str]) -> None:
    assert titles(client, query) == expected


@pytest.mark.parametrize(
    "query",
    ["?page=0", "?page=-1", "?page=x", "?page=99999999999", "?sort=drop", "?min=abc",
     "?min=٣", "?max=99999999999999999999", "?q=" + "a%20" * 500, "?family=waves&family=nothing", "?%ff=%ff"],
)  # fmt: skip
def test_a_mangled_url_still_shows_a_page(client: Client, query: str) -> None:
    assert client.get(f"/{query}").status_code == 200


def test_pages_follow_one_another_until_all_posters_were_seen_once(client: Client) -> None:
    Product.objects.bulk_create(
        Product(sku=f"more-{number}", title="More", artist="A", price=100 + number % 3)
        for number in range(40)
    )
    seen: list[str] = []
    for page in (1, 2, 3):
        response = client.get(f"/?sort=price&page={page}")
        seen += [poster.sku for poster in response.context["shelf"].posters]
    assert len(seen) == len(set(seen)) == 64
    assert "page=2" in client.get("/?page=3").content.decode()
    assert response.context["shelf"].pages == 3
    assert client.get("/?page=4").context["shelf"].page == 3


def cards(client: Client, query: str) -> dict[str, tuple[str, str]]:
    """What a page of the catalogue says about each poster's price, and where it leads, by its title."""
    text = " ".join(client.get(f"/{query}").content.decode().split())
    card = r'<a href="(/posters/[^"]*)">([^<]*)</a>.*?<span class="numbers">([^<]*)</span>'
    return {title: (price, link) for link, title, price in re.findall(card, text)}


@pytest.mark.parametrize(
    ("query", "price", "link"),
    [
        ("?q=tidal", "from €39", "/posters/tidal-lines/"),
        (
            "?q=tidal&size=45x60",
            "from €62 in 45 × 60 cm",
            "/posters/tidal-lines/?choice=tidal-lines-45x60",
        ),
        (
            "?q=tidal&size=45x60&min=100",
            "from €113 in 45 × 60 cm",
            "/posters/tidal-lines/?choice=tidal-lines-45x60-signed",
        ),
        ("?q=tidal&min=70", "from €90 in 60 × 80 cm", "/posters/tidal-lines/?choice=tidal-lines-60x80"),
        ("?q=tidal&max=40", "from €39 in 30 × 40 cm", "/posters/tidal-lines/?choice=tidal-lines"),
    ],
)
def test_a_price_is_that_of_an_offer_which_matches(client: Client, query: str, price: str, link: str) -> None:
    assert cards(client, query) == {"Tidal Lines": (price, link)}


def test_a_cheaper_size_than_the_posters_own_is_where_its_prices_begin(client: Client) -> None:
    Product.objects.create(
        sku="tidal-lines-s", variant_of_id="tidal-lines", title="S", artist="A", price=900, size="20x30"
    )
    assert cards(client, "?q=tidal") == {"Tidal Lines": ("from €9", "/posters/tidal-lines/")}
    assert titles(client, "?sort=price")[0] == "Tidal Lines"


def test_what_is_not_for_sale_matches_no_filter_and_its_size_is_not_offered(client: Client) -> None:
    Product.objects.filter(size="60x80").exclude(variant_of="first-sun").update(is_listed=False)
    assert titles(client, "?size=60x80") == ["First Sun"]
    assert 'value="60x80"' in client.get("/").content.decode()
    Product.objects.filter(sku="first-sun").update(is_listed=False)
    assert 'value="60x80"' not in client.get("/").content.decode()
    assert len(titles(client, "?size=60x80")) == 23, "a size that is not sold is ignored"


def test_sizes_are_offered_from_the_smallest_and_the_chosen_one_is_shown(client: Client) -> None:
    Product.objects.create(sku="huge", title="Huge", artist="A", price=100, size="100x140")
    Product.objects.create(sku="odd", title="Odd", artist="A", price=100, size="wide")
    text = client.get("/?size=45x60").content.decode()
    options = re.findall(r'<option value="(\d+x\d+)"( selected)?>', text)
    assert options == [("30x40", ""), ("45x60", " selected"), ("60x80", ""), ("100x140", "")]
    assert "45\u00a0×\u00a060\u00a0cm" in text.partition("</summary>")[0]


@pytest.mark.parametrize("language", ["en", "hu", "ko", "zh-hans"])
def test_no_line_breaks_within_a_size(client: Client, language: str) -> None:
    for url in ("/?size=45x60", "/posters/tidal-lines/"):
        shown = client.get(url, headers={"Accept-Language": language}).content.decode()
        text = re.sub("<(svg|script).*?</\\1>", "", shown, flags=re.DOTALL)
        assert "45\u00a0×\u00a060\u00a0cm" in text
        assert not re.search(r"\d ×|× \d|\d cm", text)


def test_a_link_to_another_family_keeps_the_search_and_drops_the_page(client: Client) -> None:
    addresses = Markup(client.get("/?q=maren&sort=title&page=2").content.decode()).addresses
    assert "?q=maren&sort=title&family=waves" in addresses


def test_the_families_are_counted_as_the_search_finds_them(client: Client) -> None:
    families = client.get("/?q=maren&family=waves").context["shelf"].families
    assert families == {"waves": 2, "sun": 0, "grid": 0, "contours": 0, "bauhaus": 0, "constellation": 1}


def test_a_search_without_matches_says_so_and_leads_back(client: Client) -> None:
    text = client.get("/?q=hippopotamus").content.decode()
    assert "Nothing matches “hippopotamus”" in text
    assert "Show all posters" in text


def test_an_empty_shop_says_so(client: Client) -> None:
    Product.objects.filter(variant_of=None).delete()
    assert "The walls are bare" in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("posters", "query"), [(0, "/"), (200, "/"), (200, "/?q=more&family=sun&min=1&page=3")]
)
def test_the_catalogue_takes_four_statements(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries, posters: int, query: str
) -> None:
    Product.objects.bulk_create(
        Product(sku=f"more-{number}", title="More", artist="A", price=100, design={"family": "sun"})
        for number in range(posters)
    )
    with django_assert_num_queries(5 if "?q=" in query else 4):  # a search is counted
        client.get(query)


# A poster.


def test_a_posters_page_has_its_offers_by_price(client: Client) -> None:
    response = client.get("/posters/tidal-lines/")
    offers = response.context["poster"].offers
    assert [(offer.sku, offer.price.amount) for offer in offers] == [
        ("tidal-lines", 3900),
        ("tidal-lines-45x60", 6200),
        ("tidal-lines-60x80", 9000),
        ("tidal-lines-45x60-signed", 11300),
        ("tidal-lines-60x80-signed", 15200),
    ]
    text = response.content.decode()
    assert "Maren Oost" in text
    assert "30\u00a0×\u00a040\u00a0cm" in text
    assert "€39" in text
    assert text.count("checked") == 2  # an offer, and how the picture is framed
    assert response.context["selected_offer"].sku == "tidal-lines"


def test_the_url_of_a_variant_leads_to_its_poster_with_the_variant_chosen(client: Client) -> None:
    response = client.get("/posters/tidal-lines-60x80-signed/", follow=True)
    assert response.redirect_chain == [("/posters/tidal-lines/?choice=tidal-lines-60x80-signed", 302)]
    assert response.context["selected_offer"].sku == "tidal-lines-60x80-signed"


def test_an_offer_that_is_not_listed_cannot_be_chosen(client: Client) -> None:
    Product.objects.filter(sku="tidal-lines-45x60").update(is_listed=False)
    response = client.get("/posters/tidal-lines/?choice=tidal-lines-45x60")
    assert response.context["selected_offer"].sku == "tidal-lines"
    assert 'tidal-lines-45x60"' not in response.content.decode()
    assert client.get("/posters/tidal-lines-45x60/").status_code == 404


def test_a_poster_without_size_is_sold_in_one_size(client: Client) -> None:
    Product.objects.create(sku="plain", title="Plain", artist="A", price=100, size="wide")
    assert "One size" in client.get("/posters/plain/").content.decode()


def test_a_posters_page_takes_three_statements(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(3):
        client.get("/posters/tidal-lines/")


@pytest.mark.parametrize("path", ["/posters/nothing/", "/posters/x.svg", "/posters/", "/no/such"])
def test_a_missing_page_says_so(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert "hangs somewhere else" in response.content.decode()


@pytest.mark.parametrize("path", ["/", "/posters/tidal-lines/", "/posters/tidal-lines.svg"])
def test_pages_are_read_only(client: Client, path: str) -> None:
    assert client.head(path).status_code == 200
    assert client.post(path).status_code == 405


# What carts and orders read.


def test_sold_products_are_shown_whether_listed_or_not(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    Product.objects.filter(sku="tidal-lines-60x80-signed").update(is_listed=False)
    with django_assert_num_queries(1):
        sold = catalogue_selectors.line_products(["tidal-lines-60x80-signed", "first-sun", "nothing", "\x00"])
    signed, sun = sold["tidal-lines-60x80-signed"], sold["first-sun"]
    assert sold.keys() == {"tidal-lines-60x80-signed", "first-sun"}
    assert (signed.poster, signed.poster_title, signed.is_listed) == ("tidal-lines", "Tidal Lines", False)
    assert signed.design["family"] == "waves"
    assert (signed.offer.size, signed.offer.edition) == ((60, 80), Edition.SIGNED)
    assert (sun.poster, sun.is_listed) == ("first-sun", True)


def test_prices_beyond_what_a_column_holds_are_no_error() -> None:
    poster_filter = PosterFilter(price_from=10**12, price_to=10**13)
    assert catalogue_selectors.shelf(poster_filter=poster_filter, page=1, per_page=24, families=()).total == 0
