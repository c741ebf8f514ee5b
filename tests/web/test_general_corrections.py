"""The form with which the customer of a business without pages of its own corrects what was declined."""

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from orders.access.guest_links import read_token
from orders.engine.contracts import Workflow
from orders.models import Event, Order, OrderProcess, StepState
from tests.support.businesses import Bakery, Oven, business
from tests.support.factories import ahead, make_order, make_purchase, step_of
from tests.web.markup import Markup
from tests.web.shopping import guest_page

pytestmark = pytest.mark.django_db
CAKE = {"cake": "walnut", "icing": "lemon", "for": "Grace Hopper"}
SOLD_OUT = {
    "state": "failed",
    "attempt": 1,
    "answered": 1,
    "outcome": "refused",
    "error": {"code": "no_walnuts", "message": "no", "waits_for": "customer"},
}
BURNT = {**SOLD_OUT, "error": {"code": "burnt", "message": "too hot"}}


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        yield


def a_cake(step: dict[str, Any], **process: Any) -> OrderProcess:
    """An order for a walnut cake, whose only step is in this state."""
    workflow = Workflow(name="bake", version=1, steps=(Bakery.step,))
    order = make_order({"mix": {**step, "not_before": ahead(3_600)}}, workflow=workflow, **process)
    make_purchase(order.pk, title="walnut cake", email="", total=None, currency="", data=CAKE)
    return order


def a_declined_cake() -> OrderProcess:
    """An order that waits until its customer chooses another cake."""
    return a_cake(SOLD_OUT, not_before=ahead(3_600))


def words(response: Any) -> str:
    text = response.content.decode()
    assert Markup(text).offences == []
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", text).split()))


def send(client: Client, order: OrderProcess, *, field: str = "cake", **values: str) -> Any:
    return client.post(f"{guest_page(order)}correct/{field}/", values)


def test_the_orders_page_offers_what_the_kind_lets_its_customer_change(client: Client) -> None:
    order = a_declined_cake()
    path = guest_page(order)
    page = client.get(path)
    assert "What you can do" in words(page)
    assert f'href="{path}correct/cake/"' in page.content.decode()
    form = client.get(f"{path}correct/cake/")
    assert "Choose another cake" in words(form)
    assert 'value="walnut"' in form.content.decode()


def assert_leads_to_the_order(response: Any, order: OrderProcess) -> None:
    assert response.status_code == 302
    assert read_token(response["Location"].split("/")[2]) == order.order_id


def test_what_she_chooses_instead_is_tried(client: Client) -> None:
    order = a_declined_cake()
    response = send(client, order, cake="rye")
    assert_leads_to_the_order(response, order)
    step = step_of(order, "mix")
    assert (step.state, step.error, step.request["cake"]) == ("not_started", None, "rye")
    stored = Order.objects.get()
    assert (stored.data, stored.title) == ({**CAKE, "cake": "rye"}, "rye cake")
    event = Event.objects.get(kind="corrected")
    assert event.detail["after"] == {"cake": "rye"}
    assert "We’ve changed your order and are trying again" in words(client.get(guest_page(order)))


@pytest.mark.parametrize(
    ("cake", "sentence"),
    [
        ("", "Please fill this in."),
        ("x" * 41, "We can’t take this. Please check what you entered."),  # the kind takes 40 characters
        ("see https://cakes.example", "web address"),
    ],
)
def test_what_the_kind_does_not_take_is_asked_for_again(client: Client, cake: str, sentence: str) -> None:
    order = a_declined_cake()
    response = send(client, order, cake=cake)
    assert response.status_code == 422
    assert sentence in words(response)
    assert (Order.objects.get().data, step_of(order, "mix").state) == (CAKE, "failed")
    assert not Event.objects.exists()


@pytest.mark.parametrize("field", ["icing", "for", "nonsense"])
def test_there_is_no_form_for_what_the_step_does_not_name(client: Client, field: str) -> None:
    order = a_declined_cake()
    response = send(client, order, field=field, **{field: "sugar"})
    assert_leads_to_the_order(response, order)
    assert Order.objects.get().data == CAKE


def test_a_step_that_does_not_wait_for_her_is_not_hers_to_correct(client: Client) -> None:
    order = a_cake(BURNT, process_state="error")
    assert "Choose another cake" not in words(client.get(guest_page(order)))
    send(client, order, cake="rye")
    assert StepState.objects.get().state == "failed"
    assert Order.objects.get().data == CAKE
