"""Searching the catalogue: what the box promises, however it is typed, and what it says when nothing matches."""

import re
from html import unescape
from urllib.parse import unquote_plus

import pytest
from django.test import Client
from django.utils import translation

from orders.shop.demo.catalogue import load_catalogue
from orders.shop.models import Product
from orders.shop.search import MOODS, words_of
from orders.shop.storefront.search_terms import mood_words
from sasweb.languages import LANGUAGES, SOURCE


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue."""
    load_catalogue()


def page(client: Client, query: str, language: str = "en") -> str:
    response = client.get(f"/?{query}", headers={"Accept-Language": language})
    assert response.status_code == 200
    return " ".join(unescape(response.content.decode()).split())


def choices(client: Client, query: str, language: str = "en") -> dict[str, str]:
    """The posters that the page shows, in their order, each with the offer that its card leads to, if to one."""
    page = client.get(f"/?{query}", headers={"Accept-Language": language}).content.decode()
    return dict(re.findall(r'<a href="/posters/([^/"]+)/(?:\?choice=([^"]+))?"', page))


def skus(client: Client, query: str, language: str = "en") -> list[str]:
    """The posters that the page shows, in their order."""
    return list(choices(client, query, language))


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


@pytest.mark.parametrize(
    ("language", "text", "mood"),
    [
        ("hu", "nyugodt", "calm"),
        ("hu", "NYUGODT", "calm"),
        ("hu", "sötét", "dark"),
        ("hu", "sotet", "dark"),
        ("hu", "meghitt", "cosy"),
        ("ko", "차분한", "calm"),
        ("ko", "따뜻한", "warm"),
        ("zh-hans", "平静", "calm"),
        ("zh-hans", "温暖", "warm"),
        ("hu", "calm", "calm"),
    ],
)
def test_moods_are_found_by_their_words_in_the_reader_s_language(
    client: Client, language: str, text: str, mood: str
) -> None:
    expected = skus(client, f"q={mood}")
    assert expected
    assert skus(client, f"q={text}", language) == expected


def test_every_mood_has_words_of_its_own_in_every_language() -> None:
    for language in LANGUAGES:
        with translation.override(language):
            words = mood_words()
        assert set(words) == set(MOODS), language
        for mood, its_words in words.items():
            assert its_words, (language, mood)
            assert (mood in its_words) == (language == SOURCE), (language, mood)


def test_a_word_of_another_language_is_corrected_only_to_one_that_is_a_letter_away(client: Client) -> None:
    for text in ("tenger", "hause", "rend"):
        shown = page(client, f"q={text}", "hu")
        assert "Találatok erre" not in shown, text
        assert f"Nincs találat erre a keresésre: „{text}”" in shown, text
    assert "Találatok erre: „bauhaus”" in page(client, "q=bauhuas", "hu")
    assert "Találatok erre: „maren”" in page(client, "q=Marne", "hu")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "signed"),
        ("en", "Signed prints"),
        ("en", "limited edition"),
        ("en", "numbered posters"),
        ("en", "signed and numbered"),
        ("hu", "szignált"),
        ("hu", "számozott nyomat"),
        ("ko", "서명"),
        ("zh-hans", "签名"),
        ("zh-hans", "限量"),
    ],
)
def test_signed_editions_are_found_by_their_words(client: Client, language: str, text: str) -> None:
    Product.objects.filter(edition="signed").exclude(variant_of="first-sun").update(is_listed=False)
    assert choices(client, f"q={text}", language) == {"first-sun": "first-sun-45x60-signed"}
    Product.objects.filter(edition="signed").update(is_listed=False)
    Product.objects.filter(sku="tidal-lines").update(description="Signed, numbered, limited.")
    if language == "en":
        assert skus(client, f"q={text.replace(' and ', ' ')}") == ["tidal-lines"], "no edition is meant"


@pytest.mark.parametrize("text", ["60x80", "60×80", "60 x 80 cm", "60 × 80", "60X80cm", "poster 60x80"])
def test_a_size_is_found_as_people_write_it(client: Client, text: str) -> None:
    Product.objects.filter(size="60x80").exclude(variant_of="first-sun").update(is_listed=False)
    assert choices(client, f"q={text}") == {"first-sun": "first-sun-60x80"}
    assert choices(client, f"q=sun {text}") == {"first-sun": "first-sun-60x80"}
    assert choices(client, f"q=harbour {text}") == {}
    assert choices(client, f"q={text}&size=45x60")["tidal-lines"] == "tidal-lines-45x60"


def test_a_size_that_is_not_sold_finds_nothing(client: Client) -> None:
    assert skus(client, "q=70x100") == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "poster"),
        ("en", "Posters"),
        ("en", "print"),
        ("en", "open edition"),
        ("hu", "poszter"),
        ("hu", "plakát"),
        ("ko", "포스터"),
        ("zh-hans", "海报"),
    ],
)
def test_words_that_are_true_of_every_product_exclude_none(client: Client, language: str, text: str) -> None:
    assert len(skus(client, f"q={text}", language)) == Product.objects.filter(variant_of=None).count()
    assert skus(client, f"q=tidal {text}", language) == ["tidal-lines"]


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
    for typed, meant in (("peacful", "peaceful"), ("dreemy", "dreamy"), ("playfull", "playful")):
        assert f'Did you mean <a href="/?q={meant}">{meant}</a>?' in page(client, f"q={typed}")


def test_a_misspelt_word_shows_no_families_in_which_nothing_is(client: Client) -> None:
    assert 'aria-label="Families"' not in page(client, "q=bahuaus")
    assert 'aria-label="Families"' in page(client, "q=bauhaus&min=900")


@pytest.mark.parametrize(
    "text",
    ["ocean", "car", "cat", "cheap", "forest", "flower", "form", "whale", "heart", "tree", "wine"],
)
def test_a_word_that_only_looks_a_little_like_others_is_not_taken_for_a_mistake(
    client: Client, text: str
) -> None:
    Product.objects.filter(sku="tidal-lines").update(
        description="From these fires, slower still, while I hear."
    )
    shown = page(client, f"q={text}")
    assert f"<h2>Nothing matches “{text}”</h2>" in shown
    assert "Did you mean" not in shown


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("tidle lines", "tidal lines"),
        ("LINES, tidle", "lines tidal"),
        ("tidle lnies", "tidal lines"),
        ("maren tidle lines", "maren tidal lines"),
        ("harbor at two", "harbour at two"),
    ],
)
def test_misspelt_words_are_corrected_together_so_that_a_poster_has_them_all(
    client: Client, text: str, meant: str
) -> None:
    assert f">{meant}</a>?" in page(client, f"q={text}")
    assert skus(client, f"q={text}") == skus(client, f"q={meant}") != []


@pytest.mark.parametrize(
    "text", ["tidle bauhaus", "forest sun", "first forest", "tidle hippo", "lnies a lnes b lins c lenes"]
)
def test_words_that_no_poster_has_together_are_not_corrected(client: Client, text: str) -> None:
    shown = page(client, f"q={text}")
    assert f"<h2>Nothing matches “{text}”</h2>" in shown
    assert "Did you mean" not in shown


@pytest.mark.parametrize(
    ("title", "text", "meant"),
    [
        ("Árapály és őszi szél", "arpály", "arapaly"),
        ("Árapály és őszi szél", "őszi arapáyl", "oszi arapaly"),
        ("고요한 바다", "고요항", "고요한"),
        ("고요한 바다", "고오한 바다", "고요한 바다"),
        ("北方海浪", "北方海狼", "北方海浪"),
    ],
)
def test_misspelt_words_are_corrected_in_each_language_of_a_catalogue(
    client: Client, title: str, text: str, meant: str
) -> None:
    Product.objects.filter(sku="tidal-lines").update(title=title)
    shown = page(client, f"q={text}")
    assert f">{meant}</a>?" in shown
    assert skus(client, f"q={text}") == ["tidal-lines"]


def test_a_search_that_only_another_family_or_price_answers_says_so(client: Client) -> None:
    shown = page(client, "q=tidal&family=sun")
    assert "Nothing here matches “tidal”" in shown
    assert "1 poster matches in another family or size, or at another price." in shown
    assert '<a href="/?q=tidal">Search all posters</a>' in shown
    assert "4 posters match in other families or sizes, or at other prices." in page(
        client, "q=bauhaus&min=900"
    )


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        *((word, "Try another word.") for word in ("hippopotamus", "xqzw", "%25", "_", "'", "\\")),
        *((words, "Try fewer words.") for words in ("q'x|z:*%26!(", "tidal+bauhaus")),
    ],
)
def test_a_search_with_nothing_near_says_so(client: Client, text: str, advice: str) -> None:
    shown = page(client, f"q={text}")
    assert f"<h2>Nothing matches “{unquote_plus(text)}”</h2>" in shown
    assert f"<p>{advice}</p>" in shown
    assert "Show all posters" in shown


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("min=90000", "Try a wider price range."),
        ("max=1", "Try a wider price range."),
        ("family=sun", "Try another family."),
        ("size=45x60&min=90000", "Try another size or a wider price range."),
        ("family=sun&size=30x40", "Try another family or size."),
        ("family=waves&max=19", "Try another family or a wider price range."),
        ("family=waves&max=1", "Try a wider price range."),
        ("family=sun&size=30x40&max=19", "Try another family or size, or a wider price range."),
        ("q=hippo", "Try another word."),
        ("q=tidal+hippo&family=waves&size=30x40&max=1", "Try fewer words."),
    ],
)
def test_a_wall_without_posters_advises_only_what_is_chosen(client: Client, query: str, advice: str) -> None:
    Product.objects.filter(design__family="sun").update(is_listed=False)
    shown = page(client, query)
    assert ("<h2>No posters match</h2>" in shown) == ("q=" not in query)
    assert f"<p>{advice}</p>" in shown


def test_nothing_is_advised_where_no_choice_helps(client: Client) -> None:
    Product.objects.update(is_listed=False)
    shown = page(client, "family=sun")
    assert "<h2>No posters match</h2> <a" in shown


def test_a_product_that_is_no_longer_for_sale_is_never_meant(client: Client) -> None:
    assert "Did you mean" in page(client, "q=tidla")
    Product.objects.filter(sku="tidal-lines").update(is_listed=False)
    assert "Did you mean" not in page(client, "q=tidla")


def test_the_words_of_a_search_are_plain_and_few() -> None:
    assert words_of("Árvíztűrő—tükör's 30×40") == ["arvizturo", "tukor", "s", "30", "40"]
    assert len(words_of("a " * 99)) == 8
