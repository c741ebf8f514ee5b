"""What a customer reads of delivery before she orders: never a total that is not hers, and never another one after."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order, SubmissionMessage
from orders.shop.models import DeliveryTerms
from orders.shop.served import present_not_served
from tests.web.helpers import run_submission
from tests.web.shopping import FORM

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
DUTIES = (
    "This total includes no taxes. If import duties or taxes are due where it goes, you pay them on arrival."
)
GOODS, DELIVERED = 7_800, 8_790
FRIDAY = datetime(2026, 11, 27, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def terms(catalogue: None) -> None:
    DeliveryTerms.objects.create(country="GB", price=990, fewest_days=2, most_days=4, tax_rate=2000)
    DeliveryTerms.objects.create(country="DE", price=690, fewest_days=2, most_days=2, tax_rate=1900)
    DeliveryTerms.objects.create(country="NL", price=0, fewest_days=1, most_days=1, tax_rate=2100)


@pytest.fixture
def friday(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: FRIDAY)


def fill_cart(client: Client) -> None:
    client.post("/cart/add/", {"sku": "tidal-lines", "quantity": "2"})


def words(response: Any) -> str:
    """The text of a page, without its tags and with single spaces."""
    text = re.sub(r"<[^>]*>", " ", response.content.decode())
    return re.sub(r"[\s\u2009\xa0]+", " ", text)


def hidden(response: Any) -> dict[str, str]:
    return dict(
        re.findall(
            r'<input type="hidden" name="(key|seen_total)" value="([^"]*)">', response.content.decode()
        )
    )


def test_the_cart_says_from_what_delivery_costs_and_no_total(client: Client) -> None:
    fill_cart(client)
    page = words(client.get("/cart/"))
    assert "Delivery free" not in page
    assert "To pay" not in page
    assert "Delivery is added at the checkout, once you have chosen a country." in page


def test_only_where_no_tax_is_included_the_checkout_says_that_duties_may_be_due(client: Client) -> None:
    DeliveryTerms.objects.create(country="", price=1990, fewest_days=7, most_days=14, tax_rate=0)
    fill_cart(client)
    sentences = {
        country: DUTIES in words(client.get("/checkout/sum/", {"country": country}))
        for country in ("", "GB", "HK", "US")
    }
    assert sentences == {"": False, "GB": False, "HK": True, "US": True}
    DeliveryTerms.objects.all().delete()
    assert DUTIES not in words(client.get("/checkout/sum/", {"country": "HK"}))


def test_before_a_country_is_chosen_there_is_no_total_and_no_sum_on_the_button(client: Client) -> None:
    DeliveryTerms.objects.filter(price=0).delete()
    fill_cart(client)
    page = client.get("/checkout/")
    assert "Delivery from €6.90" in words(page)
    assert "Choose a country to see the total." in words(page)
    assert "To pay" not in words(page)
    assert "Place order for" not in words(page)
    assert hidden(page)["seen_total"] == ""


@pytest.mark.usefixtures("friday")
def test_the_part_that_follows_the_country_says_all_of_it(client: Client) -> None:
    fill_cart(client)
    part = client.get("/checkout/sum/", {"country": "GB"})
    assert words(part).strip() == (
        "Prints €78.00 Delivery to the United Kingdom €9.90 To pay €87.90 Includes 20% VAT €14.65 "
        "Should arrive Tue 1 Dec – Thu 3 Dec"
    )
    assert hidden(part) == {"seen_total": str(DELIVERED)}
    assert 'data-button="Place order for €87.90"' in part.content.decode()
    assert "<html" not in part.content.decode()


def test_free_delivery_says_so(client: Client) -> None:
    fill_cart(client)
    part = words(client.get("/checkout/sum/", {"country": "NL"}))
    assert "Delivery to the Netherlands free To pay €78.00 Includes 21% VAT €13.54" in part


@pytest.mark.parametrize("country", ["", "IS", "AQ", "gb", "<b>", "GBGB"])
def test_a_country_that_is_none_of_the_choices_has_no_total(client: Client, country: str) -> None:
    fill_cart(client)
    part = client.get("/checkout/sum/", {"country": country})
    assert hidden(part) == {"seen_total": ""}
    assert "<b>" not in part.content.decode()


def test_an_empty_cart_has_no_sum_but_leads_to_the_cart(client: Client) -> None:
    assert client.get("/checkout/sum/", {"country": "GB"}).headers["Location"] == "/cart/"


def test_only_countries_with_terms_are_offered(client: Client) -> None:
    fill_cart(client)
    offered = re.findall(r'<option value="(\w*)"', client.get("/checkout/").content.decode())
    assert offered == ["", "DE", "NL", "GB"]
    DeliveryTerms.objects.create(country="", price=1990, fewest_days=7, most_days=14)
    offered = re.findall(r'<option value="(\w*)"', client.get("/checkout/").content.decode())
    assert len(offered) > 200
    assert "AQ" not in offered


def test_whoever_has_not_seen_the_total_is_shown_it_and_asked_again(client: Client) -> None:
    fill_cart(client)
    form = hidden(client.get("/checkout/")) | FORM
    shown = client.post("/checkout/", form)
    assert shown.status_code == 200
    assert (
        "With delivery to the United Kingdom your order comes to €87.90. Press the button again to order."
        in words(shown)
    )
    assert not SubmissionMessage.objects.exists()
    assert hidden(shown)["seen_total"] == str(DELIVERED)
    assert client.post("/checkout/", hidden(shown) | FORM).status_code == 302
    run_submission()
    order = Order.objects.get()
    assert order.total == DELIVERED
    assert order.data["delivery"] == {"price": 990, "fewest_days": 2, "most_days": 4}
    assert order.data["tax"] == {"rate": 2000, "amount": 1465}


@pytest.mark.parametrize("change", ["another country", "dearer"])
def test_a_total_that_is_not_the_one_she_saw_is_shown_before_anything_is_ordered(
    client: Client, change: str
) -> None:
    fill_cart(client)
    form = hidden(client.get("/checkout/")) | FORM | {"seen_total": str(DELIVERED)}
    if change == "dearer":
        DeliveryTerms.objects.update(price=5_000)
    else:
        form |= {"country": "DE", "postal_code": "10115"}
    shown = client.post("/checkout/", form)
    assert "The total has changed since you last saw it." in words(shown)
    assert not SubmissionMessage.objects.exists()
    assert client.post("/checkout/", form | hidden(shown)).status_code == 302


def test_the_button_without_javascript_shows_the_total_and_keeps_what_was_entered(client: Client) -> None:
    fill_cart(client)
    shown = client.post("/checkout/", {"country": "DE", "city": "Ulm", "update": "1"})
    assert shown.status_code == 200
    assert not shown.context["form"].errors
    assert shown.context["form"]["city"].value() == "Ulm"
    assert hidden(shown)["seen_total"] == str(GOODS + 690)
    assert "Place order for €84.90" in words(shown)


def test_a_country_that_is_no_longer_served_is_refused_at_its_field(client: Client) -> None:
    fill_cart(client)
    form = hidden(client.get("/checkout/")) | FORM | {"seen_total": str(DELIVERED)}
    DeliveryTerms.objects.filter(country="GB").delete()
    shown = client.post("/checkout/", form)
    assert shown.context["form"].errors["country"] == ["Choose a country from the list."]
    assert not SubmissionMessage.objects.exists()


def test_the_page_about_delivery_lists_the_terms(client: Client) -> None:
    page = words(client.get("/shipping/"))
    assert "Germany €6.90 2 Netherlands free 1 United Kingdom €9.90 2–4" in page
    DeliveryTerms.objects.all().delete()
    assert "Delivery is included in the price." in words(client.get("/shipping/"))


def test_the_page_about_delivery_names_the_countries_that_are_left_out(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOT_SERVED_COUNTRIES", "AQ,GB,US")
    present_not_served.cache_clear()
    page = words(client.get("/shipping/"))
    DeliveryTerms.objects.all().delete()
    free = words(client.get("/shipping/"))
    hungarian = words(client.get("/shipping/", headers={"Accept-Language": "hu"}))
    monkeypatch.undo()
    present_not_served.cache_clear()
    assert "United Kingdom €9.90" not in page
    assert "Countries that we don’t deliver to: United Kingdom." in page
    assert "Countries that we don’t deliver to: Antarctica, United Kingdom, and United States." in free
    assert (
        "Ezekbe az országokba nem szállítunk: Antarktisz, Egyesült Államok és Egyesült Királyság."
        in hungarian
    )


def test_a_day_in_another_language_is_written_in_it(client: Client) -> None:
    fill_cart(client)
    part = client.get("/checkout/sum/", {"country": "GB"}, headers={"Accept-Language": "hu"})
    assert "Szállítás (Egyesült Királyság)" in words(part)
