"""What an order is, as its kind says of it: for its page, whatever business it belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import override

from orders.business import registry
from orders.business.fields import Field, FieldType
from orders.business.sum_rows import SumRow
from orders.fields.money import Money
from orders.models import Order, OrderLine


@dataclass(frozen=True, kw_only=True)
class ProfileLine:
    """A line of an order. `price` is that of one; None if the order has no value."""

    sku: str
    title: str
    quantity: int
    price: Money | None


@dataclass(frozen=True, kw_only=True)
class ProfileAttribute:
    """Something that an order is found by; `query` finds it."""

    label: str
    text: str
    query: str


@dataclass(frozen=True, kw_only=True)
class ProfileAddress:
    """A postal address that its kind declares, on one line."""

    label: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ProfileText:
    """A text of its data that its kind declares."""

    label: str
    text: str


@dataclass(frozen=True, kw_only=True)
class OrderProfile:
    """What people see of an order. `label` is what such orders are called."""

    label: str
    title: str = ""
    subject: str = ""
    reference: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    promised_by: datetime | None = None
    lines: Sequence[ProfileLine] = ()
    addresses: Sequence[ProfileAddress] = ()
    texts: Sequence[ProfileText] = ()
    attributes: Sequence[ProfileAttribute] = ()
    sum_rows: Sequence[SumRow] = ()


def order_profile(workflow: str, order: Order | None, lines: Sequence[OrderLine]) -> OrderProfile:
    """The profile of an order, wherever its rows were read. `order` is None for one that is only in the state store."""
    kind = registry.find_kind(workflow)
    label = (kind.label if kind else "") or workflow
    if order is None:
        return OrderProfile(label=label)
    with override("en"):  # the console's language
        sum_rows = kind.sum_rows(order.data or {}) if kind else ()
    labels = {attribute.name: attribute.label for attribute in (kind.attributes if kind else ())}
    return OrderProfile(
        label=label,
        title=order.title,
        subject=order.subject,
        reference=order.reference,
        metadata=order.metadata or {},
        promised_by=order.promised_by,
        lines=[
            ProfileLine(
                sku=line.sku,
                title=line.title,
                quantity=line.quantity,
                price=Money(amount=line.unit_price, currency=order.currency) if order.currency else None,
            )
            for line in lines
        ],
        addresses=_addresses(kind.fields if kind else (), order.data or {}),
        texts=_texts(kind.texts if kind else (), order.data or {}),
        attributes=[_attribute(text, labels) for text in order.attributes],
        sum_rows=sum_rows,
    )


def _addresses(fields: Sequence[Field], data: Mapping[str, Any]) -> list[ProfileAddress]:
    addresses = []
    for field_ in fields:
        value = data.get(field_.name)
        if field_.type is FieldType.ADDRESS and isinstance(value, Mapping):
            addresses.append(ProfileAddress(label=field_.label, text=", ".join(field_.written(value))))
    return addresses


def _texts(fields: Sequence[Field], data: Mapping[str, Any]) -> list[ProfileText]:
    texts = [(field_.label, data.get(field_.name)) for field_ in fields]
    return [ProfileText(label=label, text=text) for label, text in texts if isinstance(text, str) and text]


def _attribute(stored: str, labels: dict[str, str]) -> ProfileAttribute:
    name, _, text = stored.partition("=")
    return ProfileAttribute(label=labels.get(name, name), text=text, query=stored)
