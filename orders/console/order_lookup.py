"""What the views of one order share: reading it, one of its steps, and JSON to show."""

import json
from typing import Any
from uuid import UUID

from django.http import Http404

from orders.selectors.database_clock import now
from orders.selectors.desk.console_order import ConsoleOrder, ConsoleStep, console_order
from orders.selectors.desk.supervisor import retry_limits
from orders.wording.events import shorten

LONGEST_JSON = 4_000
"""Characters of a JSON value that a page shows."""


def read_page(order_id: UUID) -> ConsoleOrder:
    """Reads an order that has been inserted. Raises `Http404` if there is none."""
    order = read_anywhere(order_id)
    if order.detail.order is None:
        raise Http404
    return order


def read_anywhere(order_id: UUID) -> ConsoleOrder:
    """Reads an order or a submission. Raises `Http404` if there is none."""
    order = console_order(order_id, retry_limits=retry_limits(), now=now())
    if order is None:
        raise Http404
    return order


def step_named(order: ConsoleOrder, name: str) -> ConsoleStep:
    """Returns a step of an order. Raises `Http404` if it has none of that name."""
    for step in order.steps:
        if step.facts.name == name:
            return step
    raise Http404


def readable_json(value: Any) -> str:
    """Returns a stored value as text, cut short. A remote service may have written it, so templates escape it."""
    if value is None:
        return ""
    return shorten(json.dumps(value, ensure_ascii=False, indent=1, default=str), LONGEST_JSON)
