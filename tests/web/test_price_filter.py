"""The lowest and the highest price of the catalogue's filter, as people type them."""

import re
from html import unescape
from urllib.parse import quote

import pytest
from django.http import QueryDict
from django.test import Client

from orders.shop.demo.catalogue import load_catalogue
from orders.shop.models import Product
from orders.shop.storefront.catalogue_query import CatalogueForm

WRONG = {
    "en": "Enter a price, such as 20 or 19.50.",
    "hu": "Adjon meg egy árat, például: 20 vagy 19,50.",
    "ko": "20 또는 19.50과 같이 가격을 입력해 주세요.",
    "zh-hans": "请填写价格，例如 20 或 19.50。",  # noqa: RUF001
}


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue, and in it a poster for 19.99 and one for 19.50."""
    load_catalogue()
    Product.objects.create(sku="just-below", title="Just Below", artist="A", price=1999, size="30x40")
    Product.objects.create(sku="a-half", title="A Half", artist="A", price=1950, size="30x40")


def page(client: Client, query: str, language: str = "en") -> str:
    response = client.get(f"/?{query}", headers={"Accept-Language": language})
    assert response.status_code == 200
    return unescape(response.content.decode())


def posters(client: Client, query: str) -> list[str]:
    return re.findall(r'<a href="/posters/([^/"]+)/', page(client, query))


def fields(shown: str) -> dict[str, str]:
    """The values of the two fields."""
    return dict(re.findall(r'<input class="input input--number"[^>]*name="(\w+)"[^>]*value="([^"]*)"', shown))


def chip(shown: str) -> str:
    """What the closed filter says."""
    (summary,) = re.findall(r"<summary class=\"chip\">(.*?)</summary>", shown, re.DOTALL)
    return " ".join(re.sub("<.*?>", "", summary).split())


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("20", 2000),
        ("19.5", 1950),
        ("19.50", 1950),
        ("19,50", 1950),
        ("19,", 1900),
        ("0", 0),
        (" €19.99 ", 1999),
        ("19,99 €", 1999),
        ("eur 20", 2000),
        ("1000", 100_000),
        ("1,000", 100_000),
        ("1.000", 100_000),
        ("1 000", 100_000),
        ("1\u00a0000,50", 100_050),
        ("1,234.5", 123_450),
        ("1.234,50", 123_450),
        ("1'234.50", 123_450),
        ("1.234.567", 100_000_000),
        ("１９．５０", 1950),  # noqa: RUF001 - as an input method writes them
        ("99999999999999999999", 100_000_000),
    ],
)
def test_a_price_is_read_as_people_write_it(text: str, cents: int) -> None:
    for name in ("min", "max"):
        query = QueryDict(mutable=True)
        query[name] = text
        form = CatalogueForm(query, sizes=[])
        assert (form.is_valid(), form.cleaned_data[name]) == (True, cents)


@pytest.mark.parametrize(("text", "lowest", "highest"), [("19.9999", 2000, 1999), ("19.9900", 1999, 1999)])
def test_parts_of_a_cent_are_rounded_to_the_prices_that_the_bound_allows(
    text: str, lowest: int, highest: int
) -> None:
    form = CatalogueForm(QueryDict(f"min={text}"), sizes=[])
    assert (form.is_valid(), form.cleaned_data["min"]) == (True, lowest)
    form = CatalogueForm(QueryDict(f"max={text}"), sizes=[])
    assert (form.is_valid(), form.cleaned_data["max"]) == (True, highest)


@pytest.mark.parametrize("bound", ["19.99", "19,99", "€19.99", "19.999999"])
def test_a_highest_price_includes_what_costs_just_that(client: Client, bound: str) -> None:
    assert posters(client, f"max={quote(bound)}&min=19.01&sort=price") == ["a-half", "just-below"]
    assert posters(client, "min=19.01&max=19.98") == ["a-half"]


def test_a_lowest_price_includes_what_costs_just_that(client: Client) -> None:
    assert posters(client, "min=19,99&max=20") == ["just-below"]
    assert posters(client, "min=19.50&max=19.50") == ["a-half"]


@pytest.mark.parametrize(
    ("language", "lowest", "summary"),
    [("en", "19.50", "€19.50–60"), ("hu", "19,50", "€19,50–60"), ("ko", "19.50", "€19.50–60")],
)
def test_prices_are_shown_as_the_reader_would_type_them(
    client: Client, language: str, lowest: str, summary: str
) -> None:
    shown = page(client, "min=19.5&max=60.00", language)
    assert fields(shown) == {"min": lowest, "max": "60"}
    assert chip(shown).endswith(summary)
    assert fields(page(client, "")) == {"min": "", "max": ""}
    assert chip(page(client, "max=20,5")).endswith("€0–20.50")
    assert chip(page(client, "min=1,000")).endswith("€1000+")


def test_a_highest_price_below_the_lowest_is_taken_for_it(client: Client) -> None:
    shown = page(client, "min=20&max=19,50")
    assert fields(shown) == {"min": "19.50", "max": "20"}
    assert chip(shown).endswith("€19.50–20")
    assert posters(client, "min=20&max=19,50&sort=price") == ["a-half", "just-below"]


@pytest.mark.parametrize("language", WRONG)
@pytest.mark.parametrize("name", ["min", "max"])
def test_a_price_that_cannot_be_read_says_so_at_its_field_and_excludes_nothing(
    client: Client, name: str, language: str
) -> None:
    shown = page(client, f"{name}=cheap", language)
    assert fields(shown)[name] == "cheap"
    assert '<details class="drop" open>' in shown
    assert shown.count(WRONG[language]) == shown.count('aria-invalid="true"') == 1
    (error,) = re.findall(rf'aria-invalid="true"\s+aria-describedby="(id_{name}_error)"', shown)
    assert WRONG[language] in shown.partition(f'id="{error}"')[2].partition("</div>")[0]
    assert 'class="hero' not in shown, "the filter is in view"
    assert len(posters(client, f"{name}=cheap&sort=price")) == 24


@pytest.mark.parametrize(
    "text", ["-5", "1.2.3", "1,2,3", "1e3", "٣", "20-40", "1.000,00,00", "9" * 25, "€", "x" * 900]
)
def test_what_is_no_price_is_refused(client: Client, text: str) -> None:
    assert WRONG["en"] in page(client, f"max={quote(text)}")


def test_a_wrong_price_can_be_cleared(client: Client) -> None:
    shown = page(client, "q=sun&max=cheap")
    assert re.search(r'<a class="chip"\s+href="\?q=sun">', shown)
    assert "aria-invalid" not in page(client, "q=sun")
    assert '<details class="drop">' in page(client, "q=sun&max=20")
