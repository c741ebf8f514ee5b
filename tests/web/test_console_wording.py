"""What the console calls things, on pages where a tester read something else than on the next."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from orders.console import pause_views
from orders.fields.order_numbers import spoken_number
from orders.models import BulkAction, OutgoingMessage
from tests.services.edited_orders import DECLINED, a_placed_order
from tests.support.factories import ago
from tests.support.people import person, signed_in
from tests.web.console_orders import BEFORE_SHIPMENT, an_order, in_error
from tests.web.test_console_alerts import ask_for, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in(person("operator", "olga"))


def main_of(answer: Any) -> str:
    """The words of a page, without its frame and its title."""
    body = answer.content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", body[body.index("<main") :]).split())


def test_one_chosen_order_is_one(olga: Client) -> None:
    order, other = in_error(), in_error()
    assert " 1 chosen order " in text_of(olga.get(f"/console/bulk/new/?orders={order.pk}"))
    assert " 2 chosen orders " in text_of(olga.get(f"/console/bulk/new/?orders={order.pk}&orders={other.pk}"))
    ask_for(olga, f"orders={order.pk}&do=resubmit", reason="r")
    assert BulkAction.objects.get().selection == "1 chosen order"


@pytest.mark.parametrize("page", ["edit/", "compensate/", "rehearsal/", "steps/create-shipment/skip/"])
def test_the_forms_about_an_order_name_it_by_its_number(page: str, olga: Client) -> None:
    order = in_error()
    words = main_of(olga.get(f"/console/orders/{order.pk}/{page}"))
    assert f"Order {spoken_number(order.pk)}" in words
    assert f"Order {order.pk}" not in words


def test_the_outbox_calls_a_skipped_message_what_its_filter_does(olga: Client) -> None:
    OutgoingMessage.objects.create(
        kind="sign_up", state="skipped", give_up_at=ago(60), ended_at=ago(60), arguments={"language": "en"}
    )
    page = olga.get("/console/outbox/?view=skipped").content.decode()
    state = re.search(r'data-label="State">(.*?)</td>', page, re.DOTALL)
    assert state is not None and "<span>skipped</span>" in state[1]
    assert 'aria-current="true">Skipped</a>' in page and "not needed" not in page


def test_a_filter_promises_nothing_that_its_field_cannot_take(olga: Client) -> None:
    page = olga.get("/console/audit/").content.decode()
    assert 'type="datetime-local"' in page and "Without a time" not in page


def test_the_form_of_an_edit_marks_what_is_required_and_nothing_else(olga: Client) -> None:
    order = a_placed_order({**BEFORE_SHIPMENT, "create-shipment": DECLINED}, process_state="error")
    page = main_of(olga.post(f"/console/orders/{order.pk}/edit/", {"ship_to.country": "NL"}))
    assert "Province" in page and "(required)" in page
    assert "optional" not in page


def test_a_step_is_named_with_its_workflow_where_there_are_several(
    olga: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = pause_views.steps_to_pause()
    assert {workflow for workflow, _, _ in steps} == {"fulfil-order"}
    assert "Pause create-shipment…" in main_of(olga.get("/console/pauses/"))
    monkeypatch.setattr(pause_views, "steps_to_pause", lambda: [*steps, ("test-sample", "weigh", "scales")])
    page = main_of(olga.get("/console/pauses/"))
    assert "Pause create-shipment of fulfil-order…" in page and "Pause weigh of test-sample…" in page


def test_money_that_is_only_held_needs_approval_in_words_that_are_true_of_it(
    olga: Client, settings: Any
) -> None:
    settings.CONFIG = replace(settings.CONFIG, approve_refunds_above={"EUR": 0})
    order = an_order(BEFORE_SHIPMENT, process_state="pending")
    page = main_of(olga.get(f"/console/orders/{order.pk}/compensate/"))
    assert "Nothing was charged. The €39.00 that is held is released." in page
    assert "Giving this sum back needs the approval of an admin other than you." in page
    assert "efund" not in page
