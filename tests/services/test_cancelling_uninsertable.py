"""A cancelled order that cannot be inserted ends all the same, and holds up no other (S2, S3, C10)."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from orders.engine.channels import submissions
from orders.models import Order, SetAside, SubmissionMessage
from orders.services.operators.erasing_orders import find_orders
from orders.services.order_changes import replay_submission
from orders.shop.models import Product
from orders.shop.workflows import FulfilOrder
from tests.services.cancelled_orders import ALREADY, DONE, cancelled, status_bodies, was_closed
from tests.support.finished_orders import archive
from tests.support.order_bodies import EMAIL
from tests.support.roles import alerts_of, drain, stored
from tests.support.submissions import BODY, Brittle, a_role, post

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C10")]


@pytest.fixture(autouse=True)
def product(db: None) -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)


def test_a_cancelled_order_that_cannot_be_inserted_ends_without_an_operator() -> None:
    order_id = post(total=1)
    assert cancelled(order_id) is DONE
    a_role().run_once()
    was_closed(order_id)
    assert alerts_of(order_id) == []


def test_a_cancelled_order_that_breaks_the_intake_ends_without_an_operator() -> None:
    order_id, live = post(payment_method="boom"), post()
    assert cancelled(order_id) is DONE
    drain(a_role(intake=Brittle()))
    was_closed(order_id)
    assert stored(live).goal == "complete"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("currency", ["EUR", "HUF"])
@pytest.mark.parametrize("value", [Decimal(1), float("nan")])
def test_a_cancelled_order_that_cannot_be_stored_ends_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, value: Any, currency: str
) -> None:
    read = FulfilOrder.read
    monkeypatch.setattr(
        FulfilOrder,
        "read",
        lambda body: read(body) | ({"weight": value} if body["payment_method"] == "boom" else {}),
    )
    order_id = post(payment_method="boom", reply_to="app-1")
    assert cancelled(order_id) is DONE
    Product.objects.update(currency=currency)  # an order that is refused is not tried to be inserted
    role = a_role()
    if currency == "HUF":
        role.run_once()
        Product.objects.update(currency="EUR")
    live = post()
    drain(role)
    assert stored(live).goal == "complete"
    was_closed(order_id)
    assert Order.objects.get(pk=order_id).data == {}
    assert status_bodies(order_id) == [{"reason": "customer_cancelled"}]
    later = post()
    drain(role)
    assert stored(later).goal == "complete"


def test_a_cancelled_order_that_is_refused_keeps_what_was_ordered() -> None:
    order_id = post()
    assert cancelled(order_id) is DONE
    Product.objects.update(currency="HUF")
    a_role().run_once()
    was_closed(order_id)
    order = Order.objects.get()
    assert (order.title, order.total, order.email) == ("2 × Tidal Lines", 7800, EMAIL)
    assert order.lines.count() == 1


BAD_BODIES: dict[str, Any] = {
    "no object": ["an", "order"],
    "nothing": {},
    "no kind of order": {**BODY, "workflow": None, "lines": "all of them"},
    "a subject too long": {**BODY, "subject": "s" * 200},
    "a control character": {**BODY, "email": "a\x01@example.com"},
    "an email too long": {**BODY, "email": f"{'a' * 300}@example.com"},
    "a price too high": {**BODY, "lines": [{**BODY["lines"][0], "unit_price": 2**40}], "total": 2**41},
    "no time": {**BODY, "placed_at": "yesterday"},
}


@pytest.mark.parametrize("client", ["guest", "user:4711", "nobody"])
@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_whatever_a_cancelled_submission_holds_it_ends(body: Any, client: str) -> None:
    order_id = UUID(int=11)
    submissions.post(order_id=order_id, client=client, body=body)
    for _ in range(2):
        a_role().run_once()  # sets it aside, and then ends it
        assert cancelled(order_id) in (DONE, ALREADY)
    was_closed(order_id)
    assert Order.objects.get().customer_id is None
    archive(order_id)


@pytest.mark.pattern("O1")
def test_an_order_that_could_not_be_read_leaves_nothing_that_names_its_customer() -> None:
    order_id = post(total=1)
    a_role().run_once()
    replay_submission(set_aside_id=SetAside.objects.get().pk, by="ada")
    a_role().run_once()
    cancelled(order_id)
    assert SubmissionMessage.objects.get().body["email"] == EMAIL
    assert [order for order, _ in find_orders(EMAIL, [])] == [order_id]  # so erasing her waits for its end
    a_role().run_once()
    was_closed(order_id)
    order = Order.objects.get()
    assert (order.email, order.data, order.title, order.attributes) == ("", {}, "", [])
    assert find_orders(EMAIL, []) == []
