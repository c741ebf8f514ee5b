"""Placing an order: what it posts, what its key stands for, and what cannot be ordered (S1, S3)."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import IntegrityError

from orders.business import BadOrderError
from orders.business import placing as business_placing
from orders.business.order_ids import derived_order_id
from orders.business.placing import KeyReusedError
from orders.engine.runtime.sql import run
from orders.models import (
    ArchivedOrder,
    Order,
    OrderProcess,
    OutgoingMessage,
    StepState,
    SubmissionKey,
    SubmissionMessage,
)
from orders.selectors.orders import order
from orders.services import placing as generic_placing
from orders.services.customers import place_order_as_guest
from orders.services.placing import PlacedOrder
from orders.shop.models import Product
from orders.shop.placing import as_order, place_order
from orders.shop.pricing import UnknownProductError
from tests.services.placing_orders import an_order, take_in
from tests.support.businesses import Bakery, Oven, business
from tests.support.factories import ago
from tests.support.finished_orders import retain
from tests.support.order_bodies import DELFT, EMAIL
from tests.support.two_sessions import all_at_once

pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


@pytest.mark.pattern("S1", "Q2")
def test_placing_an_order_posts_a_message_that_describes_it_and_inserts_nothing_yet(product: None) -> None:
    placed = place_order(client="guest", order=an_order(3))
    message = SubmissionMessage.objects.get()
    assert (message.order_id, message.client, placed.replayed) == (placed.order_id, "guest", False)
    assert message.body["lines"] == [{"sku": "nap", "title": "Nap", "quantity": 3, "unit_price": 4900}]
    assert (message.body["total"], message.body["currency"]) == (14_700, "EUR")
    assert (message.body["reply_to"], message.body["priority"]) == ("app-1", 7)
    assert not any(table.objects.exists() for table in (Order, OrderProcess, StepState))
    record = SubmissionKey.objects.get()
    assert (record.order_id, record.client, record.key) == (placed.order_id, "guest", None)
    assert take_in() == {"accepted": 1, "rejected": 0, "duplicates": 0}
    process = OrderProcess.objects.get()
    assert (process.order_id, process.reply_to, process.priority) == (placed.order_id, "app-1", 7)


@pytest.mark.pattern("S3")
def test_the_same_key_and_order_give_the_same_order_id_and_one_message(product: None) -> None:
    first = place_order(client="guest", order=an_order(), idempotency_key="k")
    again = place_order(client="guest", order=an_order(), idempotency_key="k")
    assert (first.replayed, again.replayed, again.order_id) == (False, True, first.order_id)
    assert SubmissionMessage.objects.get().order_id == first.order_id
    take_in()
    later = place_order(client="guest", order=an_order(), idempotency_key="k")
    assert (later.replayed, later.order_id) == (True, first.order_id)
    assert not SubmissionMessage.objects.exists()


@pytest.mark.pattern("S3")
def test_a_key_used_again_for_another_order_is_refused_and_posts_nothing(product: None) -> None:
    place_order(client="guest", order=an_order(1), idempotency_key="k")
    with pytest.raises(KeyReusedError):
        place_order(client="guest", order=an_order(2), idempotency_key="k")
    assert SubmissionMessage.objects.get().body["total"] == 4900


@pytest.mark.pattern("S3")
def test_what_was_placed_stands_although_it_can_no_longer_be_ordered(product: None) -> None:
    first = place_order(client="guest", order=an_order(), idempotency_key="k")
    Product.objects.update(is_listed=False)
    again = place_order(client="guest", order=an_order(), idempotency_key="k")
    assert (again.order_id, again.replayed) == (first.order_id, True)
    with pytest.raises(KeyReusedError):
        place_order(client="guest", order=an_order(2), idempotency_key="k")
    assert SubmissionMessage.objects.count() == 1


def test_a_placed_order_is_seen_as_it_would_be_found(product: None) -> None:
    for key in (None, "k"):
        placed = place_order(client="user:7", order=an_order(), idempotency_key=key)
        assert placed.view == order(order_id=placed.order_id, customer_id=7)


def test_an_order_that_is_there_already_is_not_seen_as_new(product: None) -> None:
    assert place_order(client="guest", order=an_order(), idempotency_key="k").view is not None
    assert place_order(client="guest", order=an_order(), idempotency_key="k").view is None
    SubmissionKey.objects.all().delete()
    assert place_order(client="guest", order=an_order(), idempotency_key="k").view is None


@pytest.mark.pattern("S3")
def test_a_key_belongs_to_its_client_and_every_call_without_one_is_a_new_order(product: None) -> None:
    placed = {
        place_order(client=client, order=an_order(), idempotency_key=key).order_id
        for client, key in [("guest", "k"), ("user:1", "k"), ("guest", "l"), ("guest", None), ("guest", None)]
    }
    assert len(placed) == SubmissionMessage.objects.count() == 5


@pytest.mark.pattern("S3", "F35")
def test_a_client_and_key_whose_record_is_lost_have_the_same_id_again(product: None) -> None:
    first = place_order(client="guest", order=an_order(), idempotency_key="k")
    for table in (SubmissionKey, SubmissionMessage):
        table.objects.all().delete()
    again = place_order(client="guest", order=an_order(), idempotency_key="k")
    assert again == first == PlacedOrder(order_id=derived_order_id(client="guest", key="k"), replayed=False)
    assert SubmissionMessage.objects.get().order_id == first.order_id


@pytest.mark.pattern("S3", "F35")
def test_an_order_that_is_there_although_its_record_is_lost_is_not_made_twice(product: None) -> None:
    """While it is still in the queue, when it has been inserted, and in the archive."""
    placed = place_order(client="guest", order=an_order(), idempotency_key="k")

    def place_again() -> dict[str, int]:
        SubmissionKey.objects.all().delete()
        again = place_order(client="guest", order=an_order(), idempotency_key="k")
        assert (again.order_id, again.replayed) == (placed.order_id, True)
        return take_in()

    assert place_again() == {"accepted": 1, "rejected": 0, "duplicates": 0}
    assert place_again() == {}
    finish(OrderProcess.objects.get())
    assert retain()["finished orders"] == 1
    assert place_again() == {}
    assert not any(table.objects.exists() for table in (Order, OrderProcess, SubmissionMessage))
    assert ArchivedOrder.objects.get().order_id == placed.order_id


def finish(process: OrderProcess) -> None:
    """Ends an order long ago, although nothing has happened to it."""
    OrderProcess.objects.filter(pk=process.pk).update(
        process_state="processed", finished_at=ago(100 * 86_400)
    )


@both_sessions
@pytest.mark.pattern("S3")
def test_twenty_simultaneous_orders_with_one_key_are_one_order(product: None) -> None:
    placed = all_at_once(20, lambda _: place_order(client="guest", order=an_order(), idempotency_key="k"))
    assert len({order.order_id for order in placed}) == 1
    assert sum(not order.replayed for order in placed) == 1
    assert SubmissionMessage.objects.count() == 1


@pytest.mark.pattern("S3")
def test_a_product_outside_the_catalogue_cannot_be_ordered(product: None) -> None:
    Product.objects.create(sku="gone", title="Gone", artist="A", price=100, is_listed=False)
    for sku in ("gone", "never-was"):
        with pytest.raises(UnknownProductError) as refused:
            place_order(client="guest", order=an_order(sku=sku), idempotency_key="k")
        assert refused.value.skus == [sku]
    assert not SubmissionMessage.objects.exists()
    assert not SubmissionKey.objects.exists()


def place_as_guest(key: str = "checkout-1") -> PlacedOrder:
    return place_order_as_guest(order=as_order(an_order()), email=EMAIL, idempotency_key=key, language="en")


def test_a_guests_order_and_the_email_with_its_link_are_posted_together(product: None) -> None:
    placed = place_as_guest()
    assert [message.order_id for message in SubmissionMessage.objects.all()] == [placed.order_id]
    assert [email.order_id for email in OutgoingMessage.objects.all()] == [placed.order_id]


def test_a_guests_order_whose_email_cannot_be_posted_is_not_placed(product: None) -> None:
    run("ALTER TABLE orders_outgoingmessage ADD CONSTRAINT nothing_goes_out CHECK (false)")
    with pytest.raises(IntegrityError, match="nothing_goes_out"):
        place_as_guest()
    assert not SubmissionMessage.objects.exists()
    assert not SubmissionKey.objects.exists()


def test_a_guest_who_sends_an_order_again_gets_no_second_email(product: None) -> None:
    first, again = place_as_guest(), place_as_guest()
    assert (again.order_id, again.replayed) == (first.order_id, True)
    assert OutgoingMessage.objects.count() == 1


@pytest.mark.parametrize(
    "data", [{"cake": "a\0b"}, {"cake": "\ud800"}, {"cake": float("nan")}, {"cake": object()}]
)
def test_data_that_cannot_be_stored_are_refused_before_anything_is_posted(
    data: dict[str, Any], settings: Any
) -> None:
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        order = business_placing.NewOrder(kind=Bakery, request=data, is_described=True)
        with pytest.raises(BadOrderError, match=r"^the data cannot be stored: "):
            business_placing.post_order(client="guest", order=order, key="k")
    assert not SubmissionMessage.objects.exists()


def test_the_record_of_a_key_is_what_it_was_before_there_were_several_kinds() -> None:
    """An order that was placed by the release before is recognised when it is placed again."""
    hashed = "cc84bf78ee675969cc66cc03fa0ad07724ddafa5f578c55b519cf23c109c40ee"
    then = replace(an_order(), ship_to=DELFT | {"postal_code": "2611"})
    assert as_order(then).fingerprint() == hashed


def test_a_default_that_a_later_release_adds_makes_no_other_order(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        first = Bakery.start("table 7", {"cake": "walnut"}, key="seven")
        monkeypatch.setattr(Bakery, "read", lambda data: {**data, "icing": "lemon", "for": "anybody"})
        assert Bakery.start("table 7", {"cake": "walnut"}, key="seven") == first


def test_an_order_of_a_kind_that_fails_is_shown_without_its_profile(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(data: Any, *, placed_at: Any) -> Any:
        raise KeyError("price")

    with business(settings, kinds=[Bakery], agents=[Oven()]):
        monkeypatch.setattr(Bakery, "profile", fail)
        order = business_placing.NewOrder(kind=Bakery, request={"cake": "walnut"})
        placed = generic_placing.place_order(client="guest", order=order)
    assert placed.view is not None
    assert (placed.view.workflow, placed.view.title) == ("bake", "")
