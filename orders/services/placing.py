"""Places orders: checks what a customer wants, adds today's prices, and posts it to the submission queue (S1)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone
from uuid_utils.compat import uuid7

from orders.engine.channels import submissions
from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import fetch
from orders.models import SubmissionMessage
from orders.selectors.customer_order import CustomerOrder, queued_order
from orders.services.order_ids import derived_order_id

DEFAULT_PRIORITY = 5


class UnknownProductError(SaswebError):
    """Raised when an order names products that are not in the catalogue. `skus` lists them."""

    def __init__(self, skus: Sequence[str]) -> None:
        super().__init__(f"not in the catalogue: {', '.join(skus)}")
        self.skus = list(skus)


class MixedCurrenciesError(SaswebError):
    """Raised when the products in an order are sold in different currencies."""


class KeyReusedError(SaswebError):
    """Raised when a client reuses an idempotency key for a different order."""


@dataclass(frozen=True, kw_only=True)
class NewLine:
    """A product and its quantity."""

    sku: str
    quantity: int


@dataclass(frozen=True, kw_only=True)
class NewOrder:
    """What a customer orders. It has no prices: those come from the catalogue."""

    lines: Sequence[NewLine]
    ship_to: Mapping[str, str]
    email: str
    payment_method: str
    priority: int = DEFAULT_PRIORITY
    reply_to: str = ""


@dataclass(frozen=True, kw_only=True)
class PlacedOrder:
    """A placed order. `replayed` is true if an earlier call with the same key had already placed it.

    `view` is how its customer sees it, if it is known without looking: it is on the submission queue and nowhere else.
    """

    order_id: UUID
    replayed: bool
    view: CustomerOrder | None = field(default=None, compare=False)


class _Product(NamedTuple):
    """What an order takes from the catalogue."""

    title: str
    price: int
    currency: str


def place_order(*, client: str, order: NewOrder, idempotency_key: str | None = None) -> PlacedOrder:
    """Posts an order to the submission queue (S1). Once this returns, the order cannot be lost (P1).

    The same client and key always mean the same order, whose id follows from them. If the order is there and only the
    record of its key is lost, the message is posted again, and submission ignores it as a duplicate (S3). Raises
    `UnknownProductError`, `MixedCurrenciesError` and `KeyReusedError`.

    Two statements, of which the one that writes is a transaction of its own, unless the caller has begun one.
    """
    if idempotency_key is None:
        order_id, body = uuid7(), _describe(order)
        posted_at = submissions.post(order_id=order_id, client=client, body=body)
        return PlacedOrder(order_id=order_id, replayed=False, view=_view(order_id, body, posted_at))
    return _place_once(client=client, order=order, key=idempotency_key)


def _place_once(*, client: str, order: NewOrder, key: str) -> PlacedOrder:
    body_hash = _hash(order)
    try:
        body = _describe(order)
    except (UnknownProductError, MixedCurrenciesError):
        # What was placed stands, although it could not be placed today.
        if record := submissions.find_record(client=client, key=key):
            return _replayed(record, body_hash)
        raise
    order_id = derived_order_id(client=client, key=key)
    record = submissions.post_once(order_id=order_id, client=client, body=body, key=key, body_hash=body_hash)
    if record.posted_at is None:
        return _replayed(record, body_hash)
    view = None if record.is_known else _view(order_id, body, record.posted_at)
    return PlacedOrder(order_id=order_id, replayed=False, view=view)


def _replayed(record: submissions.IdempotencyRecord, body_hash: str) -> PlacedOrder:
    if record.body_hash != body_hash:
        raise KeyReusedError("this Idempotency-Key was used for a different order")
    return PlacedOrder(order_id=record.order_id, replayed=True)


def _view(order_id: UUID, body: dict[str, Any], posted_at: datetime) -> CustomerOrder:
    return queued_order(SubmissionMessage(order_id=order_id, body=body, posted_at=posted_at), {})


def _describe(order: NewOrder) -> dict[str, Any]:
    """Returns the message: everything about the order, at today's prices."""
    skus = [line.sku for line in order.lines]
    products = _products(skus)
    if unknown := [sku for sku in skus if sku not in products]:
        raise UnknownProductError(unknown)
    currencies = {products[sku].currency for sku in skus}
    if len(currencies) > 1:
        raise MixedCurrenciesError(f"One order cannot be in {' and '.join(sorted(currencies))}.")
    lines = [
        {
            "sku": line.sku,
            "title": products[line.sku].title,
            "quantity": line.quantity,
            "unit_price": products[line.sku].price,
        }
        for line in order.lines
    ]
    return {
        "lines": lines,
        "ship_to": dict(order.ship_to),
        "email": order.email,
        "payment_method": order.payment_method,
        "currency": currencies.pop(),
        "total": sum(line.quantity * products[line.sku].price for line in order.lines),
        "placed_at": timezone.now().isoformat(),
        "priority": order.priority,
        "reply_to": order.reply_to,
    }


def _products(skus: Sequence[str]) -> dict[str, _Product]:
    """The products that are for sale, by SKU. They are read for each order: a new price counts from its commit on."""
    rows = fetch(
        """
        SELECT sku, title, price, currency
          FROM orders_product
         WHERE is_listed
           AND sku = ANY(%s::text[])
        """,
        [list(skus)],
    )
    return {sku: _Product(title, price, currency) for sku, title, price, currency in rows}


def _hash(order: NewOrder) -> str:
    return hashlib.sha256(json.dumps(asdict(order), sort_keys=True).encode()).hexdigest()
