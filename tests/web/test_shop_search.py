"""Searching the catalogue: what the box promises, however it is typed, and what it says when nothing matches."""

from html import unescape

import pytest
from django.test import Client

from orders.shop.demo.catalogue import load_catalogue
from orders.shop.models import Product
from orders.shop.search import distance_of, words_of
from tests.web.markup import Markup


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue."""
    load_catalogue()


def page(client: Client, query: str) -> str:
    response = client.get(f"/?{query}")
    assert response.status_code == 200
    return " ".join(unescape(response.content.decode()).split())


def skus(client: Client, query: str) -> list[str]:
    """The posters that the page shows, in their order."""
    addresses = Markup(client.get(f"/?{query}").content.decode()).addresses
    return [
        address.split("/")[2]
        for address in addresses
        if address.startswith("/posters/") and "?" not in address
    ]


@pytest.mark.parametrize(
    ("text", "sku"),
    [
        ("Tidal", "tidal-lines"),  # a title
        ("lindqvarn", "harbour-at-two"),  # an artist
        ("hallway", "north-swell"),  # a description
        ("hall", "north-swell"),  # the beginning of a word
        ("suns", "first-sun"),  # a plural
        ("grids", "city-block-nine"),  # the name of a family
        ("calm", "harbour-at-two"),  # a mood: its description says "quiet"
        ("cosy", "the-minor-heron"),
        ("TÍDÄL", "tidal-lines"),  # typed with diacritics
        ("benavent hale", "first-sun"),  # two halves of a name
    ],
)
def test_words_find_titles_artists_descriptions_families_and_moods(
    client: Client, text: str, sku: str
) -> None:
    assert sku in skus(client, f"q={text}")


def test_diacritics_in_the_catalogue_need_not_be_typed(client: Client) -> None:
    Product.objects.filter(sku="first-sun").update(title="Første Sól", artist="Łucja Őri")
    for text in ("forste", "sol", "lucja ori", "Sól", "Første", "łucja"):
        assert skus(client, f"q={text}") == ["first-sun"], text


def test_a_title_comes_before_a_description_with_the_word(client: Client) -> None:
    Product.objects.filter(sku="mint-machine").update(title="Harbour Crane", rank=9999)
    Product.objects.filter(sku="first-sun").update(description="Seen from the harbour.", rank=0)
    assert skus(client, "q=harbour")[-1] == "first-sun"
    assert skus(client, "q=harbour&sort=price")[0] != "first-sun"


def test_a_misspelt_word_leads_to_the_nearest_and_shows_its_posters(client: Client) -> None:
    shown = page(client, "q=bauhuas")
    assert "Nothing matches “bauhuas”" in shown
    assert 'Did you mean <a href="/?q=bauhaus">bauhaus</a>?' in shown
    assert 'Showing results for “bauhaus” </h1> <p class="quiet numbers"> 4 posters' in shown
    assert set(skus(client, "q=bauhuas")) == set(skus(client, "q=bauhaus"))
    assert 'Did you mean <a href="/?q=bauhaus">bauhaus</a>?' in page(client, "q=hause")
    assert 'Did you mean <a href="/?q=tidal%20lines">tidal lines</a>?' in page(client, "q=tidal+lnies")
    assert 'Did you mean <a href="/?q=maren">maren</a>?' in page(client, "q=Marne")


def test_a_search_that_only_another_family_or_price_answers_says_so(client: Client) -> None:
    shown = page(client, "q=tidal&family=sun")
    assert "Nothing here matches “tidal”" in shown
    assert "1 poster matches in another family or size, or at another price." in shown
    assert '<a href="/?q=tidal">Search all posters</a>' in shown
    assert "4 posters match in other families or sizes, or at other prices." in page(
        client, "q=bauhaus&min=900"
    )


@pytest.mark.parametrize(
    "text", ["hippopotamus", "xqzw", "%25", "_", "'", "q'x|z:*%26!(", "\\", "tidal+bauhaus"]
)
def test_a_search_with_nothing_near_says_so(client: Client, text: str) -> None:
    assert "No posters match. Try fewer words" in page(client, f"q={text}")


def test_a_product_that_is_no_longer_for_sale_is_never_meant(client: Client) -> None:
    assert "Did you mean" in page(client, "q=tidla")
    Product.objects.filter(sku="tidal-lines").update(is_listed=False)
    assert "Did you mean" not in page(client, "q=tidla")


@pytest.mark.parametrize(
    ("word", "other", "distance"),
    [
        ("", "", 0),
        ("sea", "sea", 0),
        ("bauhuas", "bauhaus", 1),
        ("sae", "sea", 1),
        ("se", "sea", 1),
        ("seas", "sea", 1),
        ("tea", "sea", 1),
        ("", "sea", 3),
        ("harbour", "habrur", 2),
    ],
)
def test_the_distance_of_words_counts_letters_and_swaps(word: str, other: str, distance: int) -> None:
    assert distance_of(word, other) == distance_of(other, word) == distance


def test_the_words_of_a_search_are_plain_and_few() -> None:
    assert words_of("Árvíztűrő—tükör's 30×40") == ["arvizturo", "tukor", "s", "30", "40"]
    assert len(words_of("a " * 99)) == 8
