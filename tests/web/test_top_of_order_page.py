"""The top of the console's page of an order: its customer, its cause, and what becomes of the time promised."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders.models import Alert, AlertGroup, Circuit, GroupNote, Order
from orders.selectors.desk.order_cause import last_fix
from tests.support.availability import waited
from tests.support.factories import ago, ahead
from tests.web.conftest import Desk
from tests.web.console_orders import an_order, in_error, open_alert

pytestmark = pytest.mark.django_db


def words_of(client: Client, order: Any) -> str:
    page = client.get(f"/console/orders/{order.pk}/").content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def closed(how: str, seconds: float, by: str = "olga") -> Any:
    """An order whose alert of the same cause was closed so long ago."""
    order = an_order({}, process_state="processed")
    alert = open_alert(order.pk)
    Alert.objects.filter(pk=alert.pk).update(
        opened_at=ago(seconds + 60), closed_at=ago(seconds), closed_by=by, resolution=how
    )
    return order


def test_the_page_names_the_last_fix_of_the_same_cause(desk: Desk) -> None:
    order, client = in_error(), desk("viewer")
    assert "Nobody has fixed this cause before." in words_of(client, order)
    for seconds in (4_000, 3_700, 3_600):
        closed("resubmitted", seconds)
    closed("resubmitted", 3_650, by="otto")
    closed("cancelled", 60)
    words = words_of(client, order)
    assert re.search(r"Last fixed 1 hour ago \S+( \S+)* by olga: resubmitted 3 orders\.", words)


def test_an_order_that_failed_again_was_not_fixed_and_neither_was_one_that_was_cancelled() -> None:
    again = closed("resubmitted", 600)
    Alert.objects.filter(pk=open_alert(again.pk).pk).update(opened_at=ago(500))
    closed("cancelled", 60)
    assert last_fix(AlertGroup.objects.get()) is None
    closed("settled", 50_000)
    fix = last_fix(AlertGroup.objects.get())
    assert fix is not None and (fix.by, fix.how, fix.orders) == ("olga", "settled", 1)


def test_the_page_names_the_owner_the_ticket_and_the_newest_note(desk: Desk) -> None:
    order, client = in_error(), desk("viewer")
    assert "Nobody owns it." in words_of(client, order)
    group = AlertGroup.objects.get()
    AlertGroup.objects.update(
        owner=User.objects.create_user("anna"), owned_at=ago(60), ticket_url="https://tickets.example/7"
    )
    for text in ("an older one", "ask the carrier"):
        GroupNote.objects.create(group=group, by="anna", text=text)
    words = words_of(client, order)
    assert "Owned by anna. Nobody has acknowledged it yet. Ticket" in words
    assert re.search(r"anna, \d+ seconds? ago \S+ : ask the carrier", words)
    assert "an older one" not in words
    page = client.get(f"/console/orders/{order.pk}/").content.decode()
    assert 'href="https://tickets.example/7"' in page and f'href="/console/alerts/{group.pk}/"' in page


def test_the_customers_email_leads_to_all_her_orders(desk: Desk) -> None:
    order, other = in_error(), an_order({})
    client = desk("viewer")
    page = client.get(f"/console/orders/{order.pk}/").content.decode()
    (url,) = re.findall(r'href="(/console/orders/\?q=customer%3A[^"]+)"', page)
    orders = client.get(url).content.decode()
    assert str(order.pk) in orders and str(other.pk) in orders


def test_where_the_parcel_goes_is_in_view_as_its_kind_declares_it(desk: Desk) -> None:
    order = in_error()
    words = words_of(desk("viewer"), order).partition("More about the order")[0]
    assert "Address Ada, Lane 1, 2611 AB Delft, NL" in words
    Order.objects.filter(pk=order.pk).update(data=None)
    assert "Address" not in words_of(desk("viewer"), order).partition("More about the order")[0]


def test_the_priority_is_set_beside_the_other_acts_and_stays_in_view(desk: Desk) -> None:
    order, client = in_error(), desk("operator")
    answer = client.post(f"/console/orders/{order.pk}/priority/", {"priority": "9"}, follow=True)
    acts = answer.content.decode().partition('id="acts"')[2].partition('id="facts"')[0]
    assert "Priority 9…" in acts and f"/console/orders/{order.pk}/priority/" in acts


def promised(order: Any, seconds: float) -> Any:
    Order.objects.filter(pk=order.pk).update(promised_by=ahead(seconds))
    return order


def test_the_page_says_whether_the_order_is_late_or_will_be(desk: Desk) -> None:
    client = desk("viewer")
    assert "It is late: the time promised was 1 minute ago" in words_of(client, promised(in_error(), -60))
    failed = words_of(client, promised(in_error(), 600))
    assert re.search(r"It will be late in 10 minutes \S+ if nobody acts before", failed)
    Circuit.objects.create(agent="warehouse")
    waits = an_order({"reserve-stock": waited(60)}, process_state="pending")
    late = r"It will be late unless warehouse takes it by (\w+ \d+, )?\d\d:\d\d UTC , the time promised\."
    assert re.search(late, words_of(client, promised(waits, 600)))


def test_the_page_says_nothing_of_a_promise_that_is_kept_or_no_longer_counts(desk: Desk) -> None:
    client = desk("viewer")
    running = promised(an_order({"reserve-stock": "running"}, process_state="processing"), 600)
    ended = promised(an_order({}, process_state="processed", finished_at=ago(5)), -60)
    for order in (running, ended):
        words = words_of(client, order)
        assert "It is late" not in words and "It will be late" not in words
