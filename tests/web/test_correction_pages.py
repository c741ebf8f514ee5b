"""The order's page says what was declined and what its customer can do, and the forms do it."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from babel import Locale
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.models import Event, Order, OrderLine, OrderProcess
from orders.selectors.refusals import names_in_refusal
from orders.selectors.tracked_orders import order_of_guest
from orders.shop.demo.catalogue import load_catalogue
from orders.shop.demo.delivery import load_delivery
from orders.wording.customers.progress import progress
from tests.services.edited_orders import DATA, GOUDA, a_placed_order
from tests.services.test_corrections import FEWER, not_served, sold_out, unanswered, waits
from tests.support.factories import ahead, step_of
from tests.support.order_bodies import DELFT
from tests.web.shopping import guest_page

pytestmark = pytest.mark.django_db

LEFT = {"lines": [{"sku": "tidal-lines", "left": 1}, {"sku": "first-sun", "left": 0}]}
SHORT = {"lines.tidal-lines": "1", "lines.first-sun": "0"}


def words(response: Any) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split()))


def page(client: Client, order: OrderProcess, end: str = "") -> str:
    return words(client.get(f"{guest_page(order)}{end}"))


def send(client: Client, order: OrderProcess, field: str, **values: Any) -> Any:
    return client.post(f"{guest_page(order)}correct/{field}/", values)


def test_what_has_sold_out_and_how_many_are_left_is_said(client: Client) -> None:
    order = a_placed_order({"reserve-stock": waits("sold_out", detail=LEFT)}, not_before=ahead(3_600))
    text = page(client, order)
    for sentence in (
        "We don’t have enough posters for your order.",
        "Only 1 of “Tidal Lines” is left, and you ordered 2.",
        "“First Sun” has sold out.",
        "Change what you ordered",
        "Your time for this runs out",
        "Cancel the order",
    ):
        assert sentence in text
    for other in ("Pay another way", "Give another address", "alerted our team", "on your card"):
        assert other not in text


def test_what_has_sold_out_altogether_is_said_in_the_headline(client: Client) -> None:
    detail = {"lines": [{"sku": sku, "left": 0} for sku in ("tidal-lines", "first-sun")]}
    order = a_placed_order({"reserve-stock": waits("sold_out", detail=detail)}, not_before=ahead(3_600))
    text = page(client, order)
    assert "Your posters have sold out." in text and "don’t have enough" not in text
    assert text.count("sold out") == 1
    OrderLine.objects.filter(order_id=order.pk, sku="first-sun").delete()
    OrderLine.objects.filter(order_id=order.pk).update(quantity=1)
    assert "Your poster has sold out." in page(client, order)


@pytest.mark.parametrize("case", [sold_out, not_served])
def test_what_is_reserved_on_the_card_meanwhile_is_said(
    client: Client, case: Callable[[], OrderProcess]
) -> None:
    text = page(client, case())
    assert "Nothing has been charged" in text
    assert re.search(
        r"€[\d.]+ is reserved on your card, and will be released if the order is cancelled\.", text
    )


@pytest.mark.parametrize("detail", [{"lines": 7}, {"lines": [7, {"sku": 7}]}, {"left": 1}, {}])
def test_a_detail_of_any_form_says_no_more_than_it_does(client: Client, detail: Any) -> None:
    order = a_placed_order({"reserve-stock": waits("sold_out", detail=detail)}, not_before=ahead(60))
    assert "We don’t have enough posters" in page(client, order)


def test_an_address_that_is_not_served_is_said_with_its_country(client: Client) -> None:
    order = a_placed_order(
        {"create-shipment": waits("address_not_served", detail={"country": "IS"})}, not_before=ahead(60)
    )
    text = page(client, order)
    assert "We can’t send your order to this address. Our carrier doesn’t deliver to Iceland." in text
    assert "Give another address" in text


@pytest.mark.parametrize(
    ("step", "code", "detail", "looks_up"),
    [
        ("reserve-stock", "sold_out", LEFT, True),
        ("create-shipment", "address_not_served", {"country": "IS"}, False),
    ],
)
def test_the_names_of_lines_are_only_looked_up_for_sentences_that_name_them(
    step: str, code: str, detail: dict[str, Any], looks_up: bool
) -> None:
    order = a_placed_order({step: waits(code, detail=detail)}, not_before=ahead(60))
    tracked = order_of_guest(order_id=order.pk)
    assert tracked
    with CaptureQueriesContext(connection) as statements:
        names_in_refusal(tracked.order)
    assert len(statements) == looks_up
    with CaptureQueriesContext(connection) as statements:
        assert progress(tracked, now=tracked.seen_at, locale=Locale("en"), usual=None).sentences
    assert len(statements) == 0, "wording asks no database"


def test_a_silent_bank_is_said_and_another_card_is_offered(client: Client) -> None:
    text = page(client, unanswered())
    for sentence in (
        "Your bank isn’t answering.",
        "whatever was reserved on the card you used last, so you won’t be charged twice",
        "Pay another way",
        "Email ",
    ):
        assert sentence in text
    assert "Your time to pay" not in text


def test_the_form_has_the_present_address_and_takes_another(client: Client) -> None:
    order = not_served()
    form = client.get(f"{guest_page(order)}correct/ship_to/").content.decode()
    for part in ("name", "street", "city", "postal_code"):
        assert f'value="{DELFT[part]}"' in form
    assert '<option value="NL" selected>' in form
    response = send(client, order, "ship_to", **GOUDA)
    assert response.status_code == 302
    assert step_of(order, "create-shipment").request["ship_to"] == GOUDA
    assert "We’ve changed your order and are trying again" in page(client, order)


def test_the_country_that_was_refused_is_not_offered_again(client: Client) -> None:
    order = a_placed_order(
        {"create-shipment": waits("address_not_served", detail={"country": "NL"})}, not_before=ahead(3_600)
    )
    form = client.get(f"{guest_page(order)}correct/ship_to/").content.decode()
    assert 'value="NL"' not in form
    assert '<option value="" selected>Choose a country</option>' in form
    assert '<option value="BE">' in form
    refused = send(client, order, "ship_to", **GOUDA)
    assert refused.status_code == 422
    assert "doesn’t deliver to the Netherlands. Choose another country." in words(refused)
    assert 'value="NL"' not in refused.content.decode()


@pytest.mark.parametrize("part", ["street", "country"])
def test_an_address_that_lacks_something_is_asked_for_again(client: Client, part: str) -> None:
    response = send(client, not_served(), "ship_to", **{**GOUDA, part: ""})
    assert response.status_code == 422
    assert "Please fill this in." in response.content.decode()
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Only 1 of “Tidal Lines · 30 × 40 cm · Open edition” is left, and you ordered 2."),
        ("hu", "„Tidal Lines · 30 × 40 cm · Korlátlan példányszám”"),
    ],
)
def test_what_has_sold_out_is_called_what_the_lines_are_called_in_the_readers_language(
    client: Client, language: str, sentence: str
) -> None:
    load_catalogue()
    order = a_placed_order({"reserve-stock": waits("sold_out", detail=LEFT)}, not_before=ahead(3_600))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    assert sentence in page(client, order)
    assert sentence in page(client, order, "correct/lines/")


@pytest.mark.parametrize(
    ("quantity", "phrase"), [(1, "keeping your poster for"), (2, "keeping your posters for")]
)
def test_what_is_kept_for_her_is_one_poster_or_several(client: Client, quantity: int, phrase: str) -> None:
    order = not_served()
    OrderLine.objects.exclude(sku="tidal-lines").delete()
    OrderLine.objects.update(quantity=quantity)
    assert f"we’re {phrase} you" in page(client, order)


def test_the_question_shows_the_lines_the_sum_the_address_and_when_it_should_arrive(client: Client) -> None:
    load_catalogue()
    load_delivery()
    order = a_placed_order(
        {"create-shipment": waits("address_not_served", detail={"country": "NL"})}, not_before=ahead(3_600)
    )
    text = words(send(client, order, "ship_to", **{**GOUDA, "country": "BE", "postal_code": "2800"}))
    whole = (
        "2 × €39.00",
        "1 × €49.00",
        "30 × 40 cm",
        "Delivery to Belgium €6.90",
        "Total €133.90",
        "Ships to",
        "Markt 1",
        "2800 Gouda",
        "Belgium",
        "It should then arrive",
        "Change it to €133.90",
    )
    for part in whole:
        assert part in text
    assert not Event.objects.exists()


def test_the_question_shows_only_the_lines_that_remain(client: Client) -> None:
    text = words(send(client, sold_out(), "lines", **SHORT))
    assert "Tidal Lines" in text
    assert "Total €39.00" in text
    assert "First Sun" not in text


def test_the_new_total_is_shown_before_anything_is_changed(client: Client) -> None:
    order = sold_out()
    response = send(client, order, "lines", **SHORT)
    assert "Your order will cost €39.00 instead of €127.00." in words(response)
    assert not Event.objects.exists()
    assert send(client, order, "lines", **SHORT, agreed="12700").status_code == 200, "that is not the total"
    assert send(client, order, "lines", **SHORT, agreed="3900").status_code == 302
    assert Order.objects.get().data["total"] == 3_900
    assert [line["quantity"] for line in Order.objects.get().data["lines"]] == [FEWER[0]["quantity"]]


@pytest.mark.parametrize("quantity", ["3", "-1", "x", ""])
def test_a_quantity_that_was_not_ordered_is_asked_for_again(client: Client, quantity: str) -> None:
    response = send(client, sold_out(), "lines", **{**SHORT, "lines.tidal-lines": quantity})
    assert response.status_code == 422
    assert not Event.objects.exists()


def a_short_order(**stock: int) -> OrderProcess:
    lines = [{"sku": sku.replace("_", "-"), "left": number} for sku, number in stock.items()]
    return a_placed_order(
        {"reserve-stock": waits("sold_out", detail={"lines": lines})}, not_before=ahead(3_600)
    )


def test_the_form_says_what_is_left_and_is_filled_in_with_what_can_work(client: Client) -> None:
    order = a_short_order(tidal_lines=1, first_sun=0)
    form = client.get(f"{guest_page(order)}correct/lines/")
    values = re.findall(r'type="number" name="lines\.([\w-]+)" value="(\d)"', form.content.decode())
    assert values == [("tidal-lines", "1"), ("first-sun", "0")]
    text = words(form)
    page = words(client.get(guest_page(order)))
    for shortage in ("Only 1 of “Tidal Lines” is left, and you ordered 2.", "“First Sun” has sold out."):
        assert page.count(shortage) == text.count(shortage) == 1
    response = send(client, order, "lines", **{"lines.tidal-lines": "2", "lines.first-sun": "1"})
    assert response.status_code == 422
    assert "Enter at most 1 of Tidal Lines." in words(response)
    assert "“First Sun” has sold out." in words(response)


def test_where_nothing_is_left_only_cancelling_is_offered(client: Client) -> None:
    order = a_short_order(tidal_lines=0, first_sun=0)
    text = page(client, order)
    assert "Nothing has been charged, and we’re sorry. You can cancel the order." in text
    assert re.search(
        r"If you do nothing, we’ll cancel it for you on \d[^()]* UTC \( in \d+ minutes \)\.", text
    )
    assert "Your time for this runs out" not in text
    assert "hange what you ordered" not in text
    assert text.count("Cancel the order") == 1
    assert client.get(f"{guest_page(order)}correct/lines/").status_code == 302


def test_the_forms_button_says_what_it_does_and_its_inputs_are_in_the_checkouts_order(client: Client) -> None:
    form = client.get(f"{guest_page(not_served())}correct/ship_to/").content.decode()
    assert "Send it to this address" in form
    assert form.index('name="postal_code"') < form.index('name="city"') < form.index('name="state"')
    assert "Antarctica" not in form


def test_leaving_everything_out_is_no_correction(client: Client) -> None:
    order = sold_out()
    response = send(client, order, "lines", **{**SHORT, "lines.tidal-lines": "0"})
    assert response.status_code == 422
    assert "Keep at least one, or cancel the order." in words(response)
    assert re.search(rf'href="/o/{order.pk.hex}\.[^"/]+/cancel/"', response.content.decode())


def test_sent_twice_it_counts_once(client: Client) -> None:
    order = not_served()
    for _ in range(2):
        assert send(client, order, "ship_to", **GOUDA).status_code == 302
    assert Event.objects.filter(kind="corrected").count() == 1
    assert "There’s nothing to change in this order now." in page(client, order)


@pytest.mark.parametrize("field", ["lines", "payment_method", "email", "nonsense"])
def test_there_is_no_form_for_what_may_not_be_changed(client: Client, field: str) -> None:
    order = not_served()
    path = guest_page(order)
    response = client.get(f"{path}correct/{field}/")
    assert (response.status_code, response["Location"]) == (302, path)


def test_an_order_that_nobody_corrected_in_time_says_why_it_was_cancelled(client: Client) -> None:
    order = a_placed_order(
        {"reserve-stock": waits("sold_out", detail=LEFT)}, goal="compensate", process_state="compensated"
    )
    Event.objects.create(
        order_id=order.pk,
        kind="compensation_requested",
        actor_kind="scheduler",
        actor_name="s",
        detail={"why": "customer_did_not_resolve"},
    )
    text = page(client, order)
    assert "We didn’t have enough posters for your order, and we’re sorry." in text
    assert "Change what you ordered" not in text
    assert DATA["total"] == 12_700
