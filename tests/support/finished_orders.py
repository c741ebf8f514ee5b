"""Orders that finished some days ago, with one row of everything that is stored about an order."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from orders import retention
from orders.engine.runtime.sql import database_now
from orders.models import Event, Order, OrderLine, OrderProcess, StatusMessage, SubmissionKey
from orders.shop.models import Product
from tests.support.factories import make_alert, make_order, make_purchase
from tests.support.workflows import CAKE

POSTER = "tide-30x40"


def finished_order(
    *, days: float = 91, state: str = "processed", purchase: dict[str, Any] | None = None
) -> UUID:
    """An order in that state, finished that many days ago, with lines, events, a status and a closed alert."""
    at = database_now() - timedelta(days=days)
    order = make_order(
        {step.name: "completed" for step in CAKE.steps},
        process_state=state,
        goal="compensate" if state == "compensated" else "complete",
        created_at=at,
        finished_at=at,
    )
    placed = make_purchase(order.order_id, placed_at=at, **(purchase or {}))
    product, _ = Product.objects.get_or_create(
        sku=POSTER, defaults={"title": "Tide", "artist": "Ada", "price": 3_900}
    )
    OrderLine.objects.create(order=placed, sku=product.pk, title="Tide", quantity=1, unit_price=3_900)
    Event.objects.create(
        order_id=order.order_id, at=at, kind="received", actor_kind="submission", actor_name="s"
    )
    Event.objects.create(order_id=order.order_id, at=at, kind=state, actor_kind="scheduler", actor_name="s")
    StatusMessage.objects.create(queue="q", order_id=order.order_id, kind="received", posted_at=at)
    make_alert(order.order_id, closed_at=at, closed_by="operator:ada")
    SubmissionKey.objects.create(
        client="c", key=str(order.order_id), body_hash="", order_id=order.order_id, created_at=at
    )
    return order.order_id


def is_stored(order_id: UUID) -> bool:
    """Whether the order is in the hot tables."""
    return OrderProcess.objects.filter(pk=order_id).exists() or Order.objects.filter(pk=order_id).exists()


def retain() -> Mapping[str, int]:
    """Runs both jobs of retention once; returns the number of rows of each part."""
    return {**retention.archive_orders(), **retention.delete_old_records()}


def archive(order_id: UUID, *, days: float = 100) -> None:
    """Makes a finished order that many days older, and moves it to the archive."""
    age = timedelta(days=days)
    Order.objects.filter(pk=order_id).update(placed_at=F("placed_at") - age)
    OrderProcess.objects.filter(pk=order_id).update(
        created_at=F("created_at") - age, started_at=F("started_at") - age, finished_at=F("finished_at") - age
    )
    Event.objects.filter(order_id=order_id).update(at=F("at") - age)
    retention.archive_orders()
    assert not is_stored(order_id)
