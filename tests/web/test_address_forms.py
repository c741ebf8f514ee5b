"""The forms for an address follow its country: the checkout, the saved addresses, a correction, an operator's edit."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from orders.console.forms.step_request import EditForm
from orders.models import Address, SubmissionMessage
from orders.shop.workflows import FulfilOrder
from tests.services.test_corrections import not_served
from tests.support.factories import step_of
from tests.support.order_bodies import DELFT, LONDON
from tests.web.customers import ada, signed_in
from tests.web.helpers import errors_of
from tests.web.shopping import FORM, guest_page
from tests.web.test_checkout import fill

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
__all__ = ["ada", "signed_in"]

SEATTLE = {
    **{"name": "Ada", "street": "1 Pine St", "line2": "Apt 5", "city": "Seattle", "state": "WA"},
    **{"postal_code": "98101", "country": "US", "phone": "+1 206 555 0100"},
}
KOWLOON = {"name": "Ada", "street": "1 Nathan Road", "city": "Mong Kok", "state": "Kowloon", "country": "HK"}
RULES = "/address-rules/"


def checkout(client: Client, address: dict[str, str]) -> Any:
    """The answer to the checkout, filled in with this address."""
    without = {name: text for name, text in fill(client).items() if name not in LONDON}
    return client.post("/checkout/", without | address)


def fields_of(page: str) -> list[str]:
    """The names of the inputs of an address, in their order. The unused ones have a minus before them."""
    inputs = re.findall(r"<(?:input|select)[^>]*>", page[page.index('<select name="country"') :])
    named = [(re.findall('name="([a-z_0-9]+)"', text), "data-unused" in text) for text in inputs]
    return [
        f"{'-' * is_unused}{names[0]}" for names, is_unused in named if names and names[0] != "payment_method"
    ]


def test_an_order_has_the_parts_of_its_countrys_address(client: Client) -> None:
    assert checkout(client, SEATTLE | {"state": "washington", "postal_code": "981011234"}).status_code == 302
    assert SubmissionMessage.objects.get().body["ship_to"] == SEATTLE | {"postal_code": "98101-1234"}


def test_what_a_country_does_not_have_is_ignored(client: Client) -> None:
    assert checkout(client, KOWLOON | {"postal_code": "000", "line2": "", "phone": ""}).status_code == 302
    assert SubmissionMessage.objects.get().body["ship_to"] == KOWLOON


def test_a_postal_code_is_ordered_with_in_the_form_of_its_country(client: Client) -> None:
    assert checkout(client, LONDON | {"postal_code": "sw1y4jh", "state": "Bavaria"}).status_code == 302
    assert SubmissionMessage.objects.get().body["ship_to"] == LONDON


@pytest.mark.parametrize(
    ("address", "part", "message"),
    [
        (LONDON | {"postal_code": "10115"}, "postal_code", "Enter a postcode like EC1Y 8SY."),
        (DELFT | {"postal_code": "2611"}, "postal_code", "Enter a postal code like 1234 AB."),
        (SEATTLE | {"postal_code": ""}, "postal_code", "Enter a ZIP code like 95014."),
        (SEATTLE | {"state": "Ontario"}, "state", "Choose one from the list."),
        (SEATTLE | {"state": ""}, "state", "Choose one from the list."),
        (SEATTLE | {"phone": "call me"}, "phone", "Enter a phone number, like +36 1 234 5678."),
        (SEATTLE | {"line2": "www.bad.example"}, "line2", "This can’t contain a web address."),
    ],
)
def test_a_mistake_is_said_with_an_example_of_the_country(
    client: Client, address: dict[str, str], part: str, message: str
) -> None:
    errors = errors_of(checkout(client, address))
    assert errors == {part: [message]}
    assert not SubmissionMessage.objects.exists()


def test_the_checkout_shows_the_fields_of_the_country_that_was_sent(client: Client) -> None:
    first = client.get("/cart/") and fill(client) and client.get("/checkout/").content.decode()
    assert fields_of(first)[:8] == [
        *("country", "name", "street", "line2", "postal_code", "city", "-state", "phone"),
    ]
    assert "State or province" in first
    page = checkout(client, SEATTLE | {"email": "", "state": "washington"}).content.decode()
    assert fields_of(page)[4:7] == ["city", "state", "postal_code"]
    assert '<option value="WA" selected>Washington</option>' in page
    assert 'autocomplete="shipping address-level1"' in page
    page = checkout(client, KOWLOON | {"email": ""}).content.decode()
    assert fields_of(page)[4:7] == ["city", "state", "-postal_code"]
    page = checkout(client, DELFT | {"email": ""}).content.decode()
    assert fields_of(page)[4:7] == ["postal_code", "city", "-state"]


def test_a_saved_address_has_the_same_parts_and_fills_the_checkout(signed_in: Client, ada: User) -> None:
    assert signed_in.post("/account/addresses/new/", SEATTLE | {"state": "Washington"}).status_code == 302
    saved = Address.objects.get()
    assert {part: getattr(saved, part) for part in SEATTLE} == SEATTLE
    page = signed_in.get("/account/addresses/").content.decode()
    assert "Seattle, WA 98101" in page and SEATTLE["phone"] in page
    signed_in.post("/cart/add/", {"sku": "tidal-lines", "quantity": "2"})
    form = signed_in.get("/checkout/").context["form"]
    assert {part: form[part].value() for part in SEATTLE} == SEATTLE


def test_a_saved_address_from_before_that_breaks_the_rules_is_said_at_its_field(
    signed_in: Client, ada: User
) -> None:
    """An earlier release took any text for a postal code, and asked for no state."""
    old = {name: SEATTLE[name] for name in ("name", "street", "city", "country")} | {"postal_code": "981"}
    Address.objects.create(user=ada, is_default=True, **old)
    signed_in.post("/cart/add/", {"sku": "tidal-lines", "quantity": "2"})
    form = signed_in.get("/checkout/").context["form"]
    values = {name: form[name].value() or "" for name in form.fields} | {"payment_method": "card_ok"}
    errors = errors_of(signed_in.post("/checkout/", values | {"seen_total": "7800"}))
    assert errors == {"postal_code": ["Enter a ZIP code like 95014."], "state": ["Choose one from the list."]}


def test_an_address_is_corrected_by_the_rules_of_its_country(client: Client) -> None:
    order = not_served()
    url = f"{guest_page(order)}correct/ship_to/"
    assert fields_of(client.get(url).content.decode())[4:7] == ["postal_code", "city", "-state"]
    refused = client.post(url, SEATTLE | {"state": "", "postal_code": "2611 AB"})
    assert refused.status_code == 422
    text = refused.content.decode()
    assert "Enter a ZIP code like 95014." in text and "Choose one from the list." in text
    assert client.post(url, KOWLOON | {"postal_code": "000", "line2": ""}).status_code == 302
    assert step_of(order, "create-shipment").request["ship_to"] == KOWLOON


def test_her_page_has_her_address_as_it_is_written_there_and_her_phone(client: Client) -> None:
    order = not_served()
    assert client.post(f"{guest_page(order)}correct/ship_to/", SEATTLE).status_code == 302
    page = " ".join(client.get(guest_page(order)).content.decode().split())
    lines = ("Ada", "1 Pine St", "Apt 5", "Seattle, WA 98101", "United States", "+1 206 555 0100")
    assert " <br> ".join(lines) in page


def edit(before: dict[str, str], **after: str) -> EditForm:
    """An operator's form for an order with the first address, sent with these changes."""
    fields = [field for field in FulfilOrder.fields if field.name == "ship_to"]
    initial = EditForm.initial_of(fields, {"ship_to": before})
    data = QueryDict(mutable=True)
    data.update(initial | {f"ship_to.{part}": text for part, text in after.items()} | {"reason": "moved"})
    blank = [name for name, text in initial.items() if not text]
    return EditForm(fields, data, initial=initial, blank=blank)


def test_an_operators_edit_is_checked_by_the_same_rules() -> None:
    assert edit(DELFT, postal_code="2611").errors == {
        "ship_to.postal_code": ["Enter a postal code like 1234 AB."]
    }
    assert edit(DELFT, **SEATTLE | {"state": ""}).errors == {"ship_to.state": ["Choose one from the list."]}
    form = edit(DELFT, **SEATTLE | {"state": "washington"})
    assert form.is_valid()
    assert form.changes() == {"ship_to": SEATTLE}


def test_an_address_from_before_stays_as_it_is_while_something_else_is_edited() -> None:
    old = DELFT | {"postal_code": "none", "country": "AQ"}
    form = edit(old)
    assert form.errors == {} and form.changed({"ship_to": old}) == {}
    assert "AQ" in dict(form.fields["ship_to.country"].choices)  # type: ignore[attr-defined]
    assert "AQ" not in dict(edit(DELFT).fields["ship_to.country"].choices)  # type: ignore[attr-defined]


def test_the_rules_that_the_pages_ask_for_are_those_of_the_country_in_the_readers_language(
    client: Client,
) -> None:
    answer = client.get(RULES, {"country": "US"}, headers={"Accept-Language": "hu"})
    rules = answer.json()
    assert rules["order"] == rules["needs"] == ["city", "state", "postal_code"]
    assert rules["labels"]["state"] == "Állam"
    assert ["WA", "Washington"] in rules["states"]
    assert (answer["Vary"], answer["Cache-Control"]) == ("Accept-Language, Cookie", "private, max-age=3600")
    rules = client.get(RULES, {"country": "HK"}).json()
    assert (rules["order"], rules["has"]) == (["city", "state", "postal_code"], ["city", "state"])
    for nothing in ("", "XX", "../us"):
        assert client.get(RULES, {"country": nothing}).json()["states"] == []


def test_every_input_of_an_address_tells_browsers_what_it_is(client: Client) -> None:
    assert FORM["country"] == "GB"
    fill(client)
    page = client.get("/checkout/").content.decode()
    for token in ("country", "name", "address-line1", "address-line2", "postal-code", "tel"):
        assert page.count(f'autocomplete="shipping {token}"') == 1
    for level in (1, 2):
        assert page.count(f'autocomplete="shipping address-level{level}"') == 1
