"""Editing an order in the console and in the API: the form, the comparison, and the act (O2)."""

from typing import Any

import pytest
from django.http import QueryDict
from django.utils.http import urlencode
from rest_framework.test import APIClient

from orders.business import BadOrderError
from orders.console.forms.step_request import EditForm
from orders.models import AuditEntry, Order, OrderProcess, StepState
from orders.services.operators.order_editing import GOES_ON, editable_order
from orders.vocabulary import TokenScope
from tests.services.edited_orders import DECLINED, GOUDA, a_placed_order, requests_of
from tests.services.operated_orders import BEFORE_SHIPMENT, UNKNOWN
from tests.support.factories import ago, step_of
from tests.support.order_bodies import DELFT, EMAIL
from tests.support.people import api_client, person, token_of
from tests.support.roles import everything, history, stored
from tests.web.conftest import Desk
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db
TYPED = {
    "payment_method": "card_ok",
    "email": EMAIL,
    **{f"ship_to.{part}": value for part, value in GOUDA.items()},
}
"""The form with another address."""


@pytest.fixture
def operator() -> APIClient:
    return api_client(token_of(person("operator"), TokenScope.OPERATE))


def in_error() -> OrderProcess:
    return a_placed_order({**BEFORE_SHIPMENT, "create-shipment": DECLINED}, process_state="error")


def place(order: OrderProcess) -> str:
    return f"/console/orders/{order.pk}/edit/"


def test_the_comparison_says_which_steps_ask_for_what_and_changes_nothing(desk: Desk) -> None:
    order = in_error()
    client, before = desk("operator"), everything(order)
    form = client.get(place(order)).content.decode()
    assert 'value="Delft"' in form and f'value="{EMAIL}"' in form and 'name="lines' not in form
    page = client.post(place(order), TYPED).content.decode()
    assert "create-shipment and send-confirmation will use the new values." in page
    assert page.count("<del>") == 1, "what the steps ask for is not repeated"
    assert "<del>Ada, Lane 1, 2611 AB Delft, NL</del>" in page
    assert "<ins>Ada, Markt 1, 2801 AB Gouda, NL</ins>" in page
    assert "Save and resubmit" in page
    assert everything(order) == before and history(order) == []


def test_the_fields_of_the_failed_step_come_first_and_the_others_are_folded(desk: Desk) -> None:
    order = in_error()
    client, url = desk("operator"), f"{place(order)}?step=create-shipment"
    page = client.get(url).content.decode()
    fold = page.index("<details>\n    <summary>Other fields</summary>")
    assert page.index('name="ship_to.city"') < fold < page.index('name="email"') < page.index('name="reason"')
    assert "Other fields" not in client.get(place(order)).content.decode()
    wrong = client.post(url, {**TYPED, "email": "nobody"}).content.decode()
    assert "<details open>\n    <summary>Other fields" in wrong


def test_what_is_wrong_with_an_address_is_said_at_its_field() -> None:
    form = EditForm(editable_order(in_error().pk).fields, QueryDict(urlencode(TYPED)))
    assert form.is_valid()
    form.show_refusal(BadOrderError("Enter an address.", where="ship_to"))
    assert list(form.errors) == [next(name for name in form.fields if name.startswith("ship_to."))]
    form.show_refusal(BadOrderError("The whole is wrong."))
    assert form.non_field_errors() == ["The whole is wrong."]


def test_a_confirmed_edit_is_saved_and_an_order_in_error_resubmitted(desk: Desk) -> None:
    order = in_error()
    client = desk("operator")
    compared = client.post(place(order), TYPED)
    confirmed = {**TYPED, "confirm": "1", "seen": compared.context["seen"], "reason": "she moved"}
    page = client.post(place(order), confirmed, follow=True).content.decode()
    assert f"Edited the order. Resubmitted create-shipment. {GOES_ON}" in page
    assert "The order was edited (ship_to), which changes create-shipment and send-confirmation" in page
    assert requests_of(order)["send-confirmation"]["ship_to"] == GOUDA
    assert stored(order).process_state == "pending"
    assert AuditEntry.objects.get(act="edit order").reason == "she moved"


def test_what_was_typed_is_kept_by_a_mistake_by_going_back_and_by_somebody_elses_edit(desk: Desk) -> None:
    order = in_error()
    client = desk("operator")
    wrong = client.post(place(order), {**TYPED, "email": "nobody", "ship_to.city": "Breda"})
    assert wrong.status_code == 422 and 'value="Breda"' in wrong.content.decode()
    back = client.post(place(order), {**TYPED, "back": "1"})
    assert back.status_code == 200 and 'value="Gouda"' in back.content.decode()
    seen = client.post(place(order), TYPED).context["seen"]
    anyway = {"confirm": "1", "seen": seen, "act_anyway": "1"}
    other = {**TYPED, "ship_to.city": "Breda", **anyway}
    desk("operator").post(place(order), other)
    late = client.post(place(order), {**TYPED, **anyway})
    page = late.content.decode()
    assert (
        late.status_code == 422 and "Somebody else has edited this order" in page and 'value="Gouda"' in page
    )
    assert Order.objects.get(pk=order.pk).data["ship_to"]["city"] == "Breda"


def test_what_an_edit_comes_too_late_for_is_said_before_it_is_confirmed(desk: Desk) -> None:
    order = a_placed_order({**BEFORE_SHIPMENT, "create-shipment": "completed"})
    page = desk("operator").post(place(order), TYPED).content.decode()
    assert "create-shipment was already done with “Ada, Lane 1, 2611 AB Delft, NL”" in page
    assert "Save changes" in page
    refused = desk("operator").post(place(order), {**TYPED, "payment_method": "card_other"})
    assert refused.status_code == 422
    assert "has reserved the order’s value already" in refused.content.decode()


def in_doubt() -> OrderProcess:
    lost = {**UNKNOWN, "answered": 3, "sent_at": ago(60), "settles_at": ago(20)}
    return a_placed_order({**BEFORE_SHIPMENT, "create-shipment": lost}, process_state="error")


def test_what_may_have_been_done_is_reversed_first_if_that_was_read_and_confirmed(desk: Desk) -> None:
    order = in_doubt()
    client, before = desk("operator"), everything(order)
    compared = client.post(place(order), TYPED)
    page = compared.content.decode()
    assert "It is unknown whether create-shipment was done. So it is reversed first, in case it was" in page
    assert "Save, reverse create-shipment, then do it again" in page
    assert everything(order) == before
    confirmed = {**TYPED, "confirm": "1", "seen": compared.context["seen"], "reason": "she moved"}
    unread = client.post(place(order), confirmed)
    assert (
        unread.status_code == 422 and "have what may have been done reversed first" in unread.content.decode()
    )
    page = client.post(
        place(order), {**confirmed, "reverse": "create-shipment"}, follow=True
    ).content.decode()
    assert "Step create-shipment was resubmitted, and what it may have done is reversed first" in page
    assert step_of(order, "create-shipment").state == "compensating"


def test_the_page_of_a_failed_reversal_says_so_and_what_settling_it_means(desk: Desk) -> None:
    order = in_doubt()
    StepState.objects.filter(process_id=order.pk, name="create-shipment").update(
        next_request={}, compensation_failure_count=6
    )
    page = desk("admin").get(f"/console/orders/{order.pk}/").content.decode()
    assert "reversal failed" in page and "cancellation failed" not in page
    form = desk("admin").get(f"/console/orders/{order.pk}/steps/create-shipment/settle/").content.decode()
    assert "before the edit has to be reversed and done anew" in form


def test_the_orders_page_and_a_failed_step_lead_to_the_form_with_that_steps_fields_first(desk: Desk) -> None:
    order = in_error()
    client = desk("operator")
    assert place(order) in client.get(f"/console/orders/{order.pk}/").content.decode()
    page = client.get(f"/console/orders/{order.pk}/steps/create-shipment/edit/", follow=True).content.decode()
    assert page.index('name="ship_to.street"') < page.index('name="email"')
    ended = a_placed_order(BEFORE_SHIPMENT, goal="compensate")
    assert place(ended) not in client.get(f"/console/orders/{ended.pk}/").content.decode()
    assert "The order is being cancelled" in client.get(place(ended)).content.decode()


def test_a_program_sees_the_same_comparison_and_makes_the_same_edit(operator: APIClient) -> None:
    order = in_error()
    path = f"/api/v1/orders/{order.pk}/edit"
    before = everything(order)
    offered: dict[str, Any] = operator.post(f"{path}/preview", {}).json()
    assert {field["name"]: field["value"] for field in offered["fields"]} == {
        "payment_method": "card_ok",
        "email": EMAIL,
        "ship_to": DELFT,
    }
    preview = operator.post(f"{path}/preview", {"changes": {"ship_to": GOUDA}}).json()
    assert preview["changes"] == [
        {
            "name": "Address",
            "before": "Ada, Lane 1, 2611 AB Delft, NL",
            "after": "Ada, Markt 1, 2801 AB Gouda, NL",
        }
    ]
    assert [step["name"] for step in preview["steps"]] == ["create-shipment", "send-confirmation"]
    assert preview["steps"][0]["after"]["ship_to"] == GOUDA and preview["staying"] == []
    assert everything(order) == before
    edit = {"changes": {"ship_to": GOUDA}, "seen": {"ship_to": DELFT}, "reason": "she moved"}
    stale = {**edit, "seen": {"ship_to": GOUDA}}
    assert "in the meantime" in assert_problem(operator.post(path, stale), "act_refused")["detail"]
    assert [operator.post(path, edit).json()["result"] for _ in range(2)] == ["done", "already"]
    assert requests_of(order)["send-confirmation"]["ship_to"] == GOUDA


def test_a_program_names_the_steps_that_are_reversed_first(operator: APIClient) -> None:
    order = in_doubt()
    path = f"/api/v1/orders/{order.pk}/edit"
    edit = {"changes": {"ship_to": GOUDA}}
    for refused in (operator.post(f"{path}/preview", edit), operator.post(path, edit)):
        assert "whether create-shipment was done" in assert_problem(refused, "act_refused")["detail"]
    named = {**edit, "reverse": ["create-shipment"]}
    steps = operator.post(f"{path}/preview", named).json()["steps"]
    assert [(step["name"], step["is_reversed_first"]) for step in steps] == [
        ("create-shipment", True),
        ("send-confirmation", False),
    ]
    assert [operator.post(path, named).json()["result"] for _ in range(2)] == ["done", "already"]
    details = operator.get(f"/api/v1/orders/{order.pk}/details").json()["steps"]
    assert [step["name"] for step in details if step["is_reversed_first"]] == ["create-shipment"]


def test_a_program_is_told_where_a_value_is_wrong_and_what_cannot_be_edited(operator: APIClient) -> None:
    order = in_error()
    for path in (f"/api/v1/orders/{order.pk}/edit", f"/api/v1/orders/{order.pk}/edit/preview"):
        wrong = {"ship_to": {**DELFT, "city": "\n"}}
        assert mistakes(operator.post(path, {"changes": wrong})) == ["/changes/ship_to/city"]
        assert mistakes(operator.post(path, {"changes": {"lines": []}})) == ["/changes/lines"]
        several = {"payment_method": "", "moon": 1, "ship_to": {"country": "NL"}, "sun": 2}
        wrong_places = mistakes(operator.post(path, {"changes": several}))
        assert wrong_places[:3] == ["/changes/moon", "/changes/sun", "/changes/payment_method"]
        assert wrong_places[3].startswith("/changes/ship_to")
        card = {"changes": {"payment_method": "card_other"}}
        assert "reserved" in assert_problem(operator.post(path, card), "act_refused")["detail"]
    assert history(order) == []
