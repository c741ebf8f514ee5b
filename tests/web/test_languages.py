"""The language of a page: what the reader chose, or else what her browser asks for. The desk speaks English."""

from typing import Any

import pytest
from django.conf import settings as present
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation
from rest_framework.test import APIClient

from orders.shop.models import Product
from tests.web.shopping import guest_page, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]


@pytest.fixture(autouse=True)
def languages(settings: Any) -> None:
    """English and Hungarian, whatever catalogues there are."""
    settings.LANGUAGES = [("en", "English"), ("hu", "Magyar")]


def language_of(client: Client, path: str = "/", **headers: str) -> str:
    """The language of a page, which its element `html` and its headers agree on."""
    response = client.get(path, headers=headers)
    language = str(response["Content-Language"])
    assert f'<html lang="{language}">' in response.content.decode()
    assert {"Accept-Language", "Cookie"} <= {name.strip() for name in response["Vary"].split(",")}
    return language


@pytest.mark.parametrize(
    ("preferences", "expected"),
    [
        ("", "en"),
        ("hu", "hu"),
        ("hu-HU,hu;q=0.9,en;q=0.5", "hu"),
        ("de,hu;q=0.5", "hu"),
        ("de", "en"),
        ("*", "en"),
    ],
)
def test_a_page_is_in_the_first_of_the_browsers_languages_that_there_is(
    client: Client, preferences: str, expected: str
) -> None:
    assert language_of(client, **{"Accept-Language": preferences}) == expected
    assert translation.get_language() == "en"


@pytest.mark.parametrize("path", ["/", "/cart/", "/nothing/", "/account/sign-in/", "/orders/find/"])
def test_the_language_that_was_chosen_is_kept_for_every_page(client: Client, path: str) -> None:
    assert language_of(client, path, **{"Accept-Language": "hu"}) == "hu"
    response = client.post(
        "/language/", {"language": "en", "next": "/?q=sun"}, headers={"Accept-Language": "hu"}
    )
    assert (response.status_code, response["Location"]) == (302, "/?q=sun")
    cookie = response.cookies[present.LANGUAGE_COOKIE_NAME]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("en", True, "Lax")
    assert cookie["max-age"] == 365 * 86_400
    assert language_of(client, path, **{"Accept-Language": "hu"}) == "en"


def test_every_page_offers_each_language_by_its_own_name_and_leads_back_to_itself(client: Client) -> None:
    page = guest_page(shop_order({}))
    text = client.get(page).content.decode()
    back = client.post("/language/", {"language": "hu"}, headers={"Referer": f"http://testserver{page}"})
    assert back["Location"] == f"http://testserver{page}"
    assert 'lang="hu">Magyar</button>' in " ".join(text.split()).replace(" >", ">")


def test_where_there_is_one_language_there_is_no_choice(client: Client, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English")]
    assert 'action="/language/"' not in client.get("/").content.decode()


@pytest.mark.parametrize("following", ["https://example.com/", "//example.com/", "javascript:alert(1)"])
def test_the_choice_leads_nowhere_else(client: Client, following: str) -> None:
    response = client.post("/language/", {"language": "hu", "next": following})
    assert (response.status_code, response["Location"]) == (302, "/")


@pytest.mark.parametrize("path", ["/console/", "/admin/", "/api/v1/orders"])
def test_operators_and_programs_read_english(client: Client, path: str) -> None:
    response = client.get(path, headers={"Accept-Language": "hu"})
    assert "Content-Language" not in response


def test_a_program_asks_for_the_language_of_what_customers_read(ada: APIClient) -> None:
    order = shop_order({}, customer=User.objects.get(username="ada"))
    response = ada.get(f"/api/v1/orders/{order.order_id}/progress", HTTP_ACCEPT_LANGUAGE="hu")
    assert (response.status_code, response["Content-Language"]) == (200, "hu")
    assert "Accept-Language" in response["Vary"]


def test_titles_and_descriptions_say_that_they_are_english_on_a_page_that_is_not(client: Client) -> None:
    Product.objects.filter(sku="tidal-lines").update(description="Calm water.")
    for language, attribute in (("hu", ' lang="en"'), ("en", "")):
        headers = {"Accept-Language": language}
        poster = client.get("/posters/tidal-lines/", headers=headers).content.decode()
        assert f"<h1{attribute}>Tidal Lines</h1>" in poster
        assert f'<p class="poster__about"{attribute}>Calm water.</p>' in poster
        posters = client.get("/", headers=headers).content.decode()
        assert f'href="/posters/first-sun/"{attribute}>First Sun</a>' in posters
