"""Places the orders of the shop's customers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from orders.business import placing as business
from orders.business.own_words import OwnWords
from orders.business.submissions import DEFAULT_PRIORITY
from orders.services import placing
from orders.shop.workflows import FulfilOrder


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
    reference: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    language: str = ""
    gift_note: str = ""


def place_order(*, client: str, order: NewOrder, idempotency_key: str | None = None) -> placing.PlacedOrder:
    """Places a customer's order: see `orders.services.placing`. Raises `UnknownProductError`, `MixedCurrenciesError`,
    `KeyReusedError` and `ReferenceTakenError`.

    Two statements, of which the one that writes is a transaction of its own, unless the caller has begun one.
    """
    return placing.place_order(client=client, order=as_order(order), idempotency_key=idempotency_key)


def as_order(order: NewOrder) -> business.NewOrder:
    """The order as every business places one."""
    request = asdict(order)
    for name in ("language", "gift_note"):
        if not request[name]:
            del request[name]  # a key means the same order as before there was such a thing
    words = OwnWords(reference=request.pop("reference"), metadata=request.pop("metadata"))
    return business.NewOrder(
        kind=FulfilOrder,
        priority=request.pop("priority"),
        reply_to=request.pop("reply_to"),
        words=words,
        tells_customer=True,
        request={**request, "ship_to": dict(order.ship_to)},
    )
