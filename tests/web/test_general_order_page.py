"""The page of an order of a business that has no pages of its own."""

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core import signing
from django.core.cache import cache
from django.test import Client
from django.urls import include, path
from django.utils import timezone

from orders.access.guest_links import SALT
from orders.business import CustomerWords
from orders.models import OrderLine, OrderProcess
from tests.support.businesses import Oven, TastedCakes, business
from tests.support.factories import ahead, make_order, make_purchase
from tests.support.roles import stored
from tests.web.markup import Markup
from tests.web.shopping import customer, declined, guest_page

pytestmark = pytest.mark.django_db
PAGES = ("", "progress/", "cancel/")
urlpatterns = [
    path("api/", include("orders.api.urls")),
    path("console/", include("orders.console.urls")),
    path("", include("orders.order_page.urls")),
]
"""The urls of an installation without the shop."""


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    cache.clear()
    with business(settings, kinds=[TastedCakes], agents=[Oven()]):
        yield


def a_cake(
    steps: dict[str, Any] | None = None, *, total: int | None = None, line: str = "", **fields: Any
) -> OrderProcess:
    """An order for a walnut cake in the state that these steps describe; with a line for candles, if asked."""
    process = {name: fields.pop(name) for name in ("process_state", "not_before") if name in fields}
    order = make_order(steps, workflow=TastedCakes.workflow, **process)
    currency = "" if total is None else "EUR"
    values = {"title": "walnut cake", "email": "", "total": total, "currency": currency, **fields}
    purchase = make_purchase(order.order_id, **values)
    if line:
        OrderLine.objects.create(order=purchase, sku=line, title=line, quantity=3, unit_price=100)
    return order


def words(client: Client, page: str, *, status: int = 200) -> str:
    """A page's text, without its tags."""
    response = client.get(page)
    assert response.status_code == status
    text = response.content.decode()
    assert Markup(text).offences == []
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))


def test_it_shows_what_the_order_is_of_and_its_stages_and_no_money_where_there_is_none(
    client: Client,
) -> None:
    order = a_cake({"mix": "running"}, promised_by=timezone.now() + timedelta(hours=1))
    text = words(client, guest_page(order))
    for part in ("We’re working on it", "walnut cake", "Mix : in progress", "Taste", "Promised by"):
        assert part in text, part
    for part in ("Total", "Ships to", "Email", "posters", "payment", "Handed to"):
        assert part not in text, part


def test_it_shows_lines_with_their_prices_only_if_the_order_has_a_value(client: Client) -> None:
    free = words(client, guest_page(a_cake(line="candles")))
    assert "candles 3 × " in free and "€" not in free
    paid = words(client, guest_page(a_cake(line="candles", total=300)))
    assert "candles 3 × €1" in paid and "Total €3.00" in paid


def test_what_waits_for_a_person_is_waiting_and_not_late(client: Client) -> None:
    steps = {"mix": "completed", "taste": {"state": "awaiting", "awaits": {"kind": "decision"}}}
    text = words(client, guest_page(a_cake(steps)))
    assert "Your order is waiting. Someone is looking at it" in text
    assert "Taste : waiting" in text


def test_it_is_cancelled_after_a_question_that_says_what_becomes_of_the_money(client: Client) -> None:
    order = a_cake({"mix": {"state": "completed", "completed_at": timezone.now()}}, total=900)
    page = guest_page(order)
    assert "Cancel the order" in words(client, page)
    question = client.get(f"{page}cancel/").content.decode()
    for sentence in ("We’ll refund €9.00.", "You can’t undo this."):
        assert re.search(rf"<p[^>]*>{sentence}</p>", question), "each sentence is a paragraph of its own"
    assert "€" not in words(client, f"{guest_page(a_cake({'mix': 'completed'}))}cancel/")
    client.post(f"{page}cancel/")
    assert stored(order).goal == "compensate"
    text = words(client, page)
    assert "We’re cancelling your order." in text and "Refund of €9.00" in text
    assert "You can’t cancel this order now" in words(client, f"{page}cancel/")


def test_a_declined_order_says_so_and_offers_a_person_since_it_has_no_form(client: Client) -> None:
    text = words(client, guest_page(a_cake({"mix": declined()}, not_before=ahead(3_600))))
    assert "Waiting for you" in text and "Would you rather talk to a person?" in text
    assert "Pay" not in text


def test_its_part_that_changes_is_followed_live(client: Client) -> None:
    page = guest_page(a_cake())
    fragment = client.get(f"{page}progress/").content.decode().strip()
    assert fragment.startswith('<section id="progress"')
    assert f'data-events="/events{page}"' in fragment
    assert 'id="progress"' in client.get(page).content.decode()
    assert "live.js" in client.get(page).content.decode()


def test_its_owner_sees_it_by_its_number_and_nobody_else_does(client: Client) -> None:
    (ada, browser), (_, bob) = customer(), customer("bob")
    page = f"/orders/{a_cake(customer=ada).order_id}/"
    assert "walnut cake" in words(browser, page)
    for stranger in (bob, client):
        assert "walnut cake" not in words(stranger, page, status=404)


def test_the_kinds_own_words_are_on_it(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    own = CustomerWords(placed="We have your recipe", cancel_until="You can cancel until it is eaten.")
    monkeypatch.setattr(TastedCakes, "customer_words", own)
    page = guest_page(a_cake())
    text = words(client, page)
    assert "We have your recipe" in text and "You can cancel until it is eaten." in text
    question = client.get(f"{page}cancel/").content.decode()
    assert '<p class="quiet">You can’t undo this.</p>' in question
    assert "until it is eaten" not in question


def test_it_needs_no_page_of_the_shop(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    settings.LOGIN_URL = "console:sign-in"
    order = a_cake(total=900)
    for part in PAGES:
        assert "order" in words(client, guest_page(order) + part)
    hidden = words(client, "/o/nothing/", status=404)
    assert "We can’t find this order" in hidden and "email you" not in hidden
    old_page = f"/o/{signing.Signer(sep='.', salt=SALT).sign(order.order_id.hex)}/"
    assert "Email me a new link" in words(client, old_page, status=410)
    assert "We’re sending a new link" in client.post(f"{old_page}renew/").content.decode()
