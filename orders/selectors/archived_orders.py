"""Reads archived orders: their documents as the models they were, not saved, and as their customers see them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import QuerySet
from django.db.models.functions import Lower

from orders.business import registry
from orders.models import ArchivedOrder, Event, Order, OrderLine, OrderProcess, StepState
from orders.selectors.customer_order import (
    CustomerOrder,
    LastEvent,
    customer_line,
    customer_step,
    described_order,
)

Row = TypeVar("Row", bound=models.Model)


@dataclass(frozen=True, kw_only=True)
class Archived:
    """An archived order's rows. `order` is None if the state store knew the order and the orders database did not."""

    row: ArchivedOrder
    process: OrderProcess
    order: Order | None
    lines: list[OrderLine]
    steps: list[StepState]
    events: list[Event]


def find(order_id: UUID, **belonging: Any) -> Archived | None:
    """The archived order with this id and, if given, this customer; None if there is none."""
    row = ArchivedOrder.objects.select_related("customer").filter(pk=order_id, **belonging).first()
    return opened(row) if row else None


def of_email(email: str) -> QuerySet[ArchivedOrder]:
    """The archived orders of an email."""
    return ArchivedOrder.objects.annotate(lower_email=Lower("email")).filter(lower_email=email.lower())


def opened(row: ArchivedOrder) -> Archived:
    """An archived order with its document as models."""
    document = row.document
    return Archived(
        row=row,
        process=_read(OrderProcess, document["process"]),
        order=_read(Order, document["order"]) if document["order"] else None,
        lines=[_read(OrderLine, line) for line in document["lines"]],
        steps=[_read(StepState, step) for step in document["steps"]],
        events=[_read(Event, event) for event in document["events"]],
    )


def _read(model: type[Row], values: Mapping[str, Any]) -> Row:
    """A row from its columns as JSON. A column that was added later has its default."""
    instance = model()
    for field in model._meta.concrete_fields:
        if field.column and field.column in values:
            setattr(instance, field.attname, field.to_python(values[field.column]))
    return instance


def _columns_of(step: StepState) -> dict[str, Any]:
    """A step's columns, with its result if clients see something of it."""
    return {**vars(step), "result": step.result if step.name in registry.client_results() else None}


def customer_order(archived: Archived) -> CustomerOrder | None:
    """An archived order as its customer sees it, with the version that it had."""
    order, process = archived.order, archived.process
    if order is None:
        return None
    last = archived.events[-1] if archived.events else None
    view = described_order(
        order,
        process,
        [customer_step(_columns_of(step), process.goal) for step in archived.steps],
        [
            customer_line(line.sku, line.title, line.quantity, line.unit_price, order.currency)
            for line in archived.lines
        ],
        {order.pk: LastEvent(last.pk, last.at)} if last else {},
    )
    return replace(view, is_archived=True, data=order.data or {})
