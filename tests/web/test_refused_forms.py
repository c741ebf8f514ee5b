"""A form of the console that is refused says so at its field, and keeps what was typed."""

import re

import pytest

from orders.models import AlertGroup, Circuit
from tests.services.operated_orders import BEFORE_SHIPMENT, an_order
from tests.support.factories import make_alert, make_order
from tests.support.people import person, signed_in
from tests.web.conftest import Desk

pytestmark = pytest.mark.django_db


def group() -> int:
    make_alert(make_order({"mix": "failed"}, process_state="error").order_id)
    return AlertGroup.objects.get().pk


def fold_with(page: str, field_id: str) -> str:
    """The folded part of a page that has a field."""
    folds = re.findall(r"<details.*?</details>", page, re.DOTALL)
    (fold,) = [each for each in folds if f'id="{field_id}"' in each]
    return " ".join(fold.split())


def error_at(fold: str, field_id: str) -> str:
    """The error at a field, which its input names as its description."""
    assert f'aria-describedby="{field_id}_error"' in fold and 'aria-invalid="true"' in fold
    error = re.search(rf'id="{field_id}_error">.*?<span>(.*?)</span>', fold)
    assert error is not None
    return error[1]


def test_a_wrong_ticket_url_is_shown_at_its_field_once(desk: Desk) -> None:
    client, at = desk("operator"), f"/console/alerts/{group()}/"
    page = client.post(f"{at}ticket/", {"url": "tickets/4711", "expected": ""}, follow=True).content.decode()
    fold = fold_with(page, "ticket-url")
    assert fold.startswith('<details class="fold" open>') and 'value="tickets/4711"' in fold
    assert error_at(fold, "ticket-url").startswith("This must be an https:// url")
    assert page.count("This must be an https:// url") == 1  # and not a message, too
    assert "tickets/4711" not in client.get(at).content.decode()


def test_who_was_slower_sees_what_is_there_and_can_send_what_she_typed_again(desk: Desk) -> None:
    client, at = desk("operator"), f"/console/alerts/{group()}/"
    AlertGroup.objects.update(ticket_url="https://tickets.example.com/1")
    form = {"url": "https://tickets.example.com/2", "expected": ""}
    fold = fold_with(client.post(f"{at}ticket/", form, follow=True).content.decode(), "ticket-url")
    assert "Somebody has linked https://tickets.example.com/1" in error_at(fold, "ticket-url")
    expected = re.search(r'name="expected" value="(.*?)"', fold)
    assert expected is not None
    client.post(f"{at}ticket/", form | {"expected": expected[1]})
    assert AlertGroup.objects.get().ticket_url == form["url"]


def test_an_agents_limit_is_refused_at_its_field_of_that_agent_alone(desk: Desk) -> None:
    for agent in ("carrier", "payments"):
        Circuit.objects.create(agent=agent)
    form = {"rate": "fast", "capacity": "3", "reason": "they asked"}
    page = desk("operator").post("/console/agents/carrier/limit/", form, follow=True).content.decode()
    fold = fold_with(page, "carrier-limit-rate")
    assert "Enter a number of calls a second" in error_at(fold, "carrier-limit-rate")
    assert 'value="fast"' in fold and 'value="they asked"' in fold
    assert " open" not in fold_with(page, "payments-limit-rate").split(">")[0]


def test_a_pause_without_a_reason_is_refused_at_its_field(desk: Desk) -> None:
    order = an_order(BEFORE_SHIPMENT, process_state="pending")
    at = f"/console/orders/{order.pk}/"
    page = (
        desk("operator").post(f"{at}pause/", {"minutes": "240", "reason": ""}, follow=True).content.decode()
    )
    fold = fold_with(page, "pause-reason")
    assert error_at(fold, "pause-reason").startswith("Give a reason")
    assert '<option value="240" selected>' in fold


def test_a_form_that_its_page_does_not_have_any_more_leaves_its_error_as_a_message() -> None:
    client, at = signed_in(person("operator", "olga")), f"/console/alerts/{group()}/"
    AlertGroup.objects.all()[0].alerts.all().delete()
    page = client.post(f"{at}snooze/", {"hours": "4", "until": "2026-01-31T08:00"}, follow=True)
    assert "Choose either a number of hours or a time" in page.content.decode()
