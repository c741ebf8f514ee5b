"""An order on the submission queue: its data, and what every kind of order has, side by side in one object. Pure.

    {"workflow": "fulfil-order", "subject": "", "priority": 5, "reply_to": "", "placed_at": "2026-…", …data}

`reference` and `metadata` are beside them if its client gave any, and `tells_customer` if its customer is to be emailed
what becomes of it.
A submission without `workflow` is of the installation's first kind, as all were before there were several.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from orders.business.own_words import NO_WORDS, OwnWords, read_words
from orders.business.reading import BadOrderError, read_moment, read_object, read_text, read_whole
from orders.engine.contracts import LONGEST_QUEUE, Json
from orders.engine.intakes import customer_of
from orders.engine.runtime.text import strict_json

DEFAULT_PRIORITY = 5
"""In the middle of 0 to 9, so there is room for more and for less urgent orders."""
LONGEST_SUBJECT = 120
RESERVED = (
    "workflow",
    "subject",
    "priority",
    "reply_to",
    "placed_at",
    "reference",
    "metadata",
    "tells_customer",
)
"""The names that data cannot have."""
GUEST = "guest"
"""The client of orders that have no account."""


def compose(
    data: Json,
    *,
    workflow: str,
    subject: str,
    priority: int,
    reply_to: str,
    placed_at: datetime,
    words: OwnWords = NO_WORDS,
    tells_customer: bool = False,
) -> dict[str, Any]:
    """Returns the body of a submission. Raises `BadOrderError` if the data have a name that is reserved, or something
    else of it is not allowed."""
    for name in RESERVED:
        if name in data:
            raise BadOrderError(f"{name} cannot be a name of an order's data.", where=name)
    try:
        strict_json(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadOrderError(f"the data cannot be stored: {error}.") from error
    return {
        **data,
        "workflow": workflow,
        "subject": read_text(subject, "subject", LONGEST_SUBJECT, lowest=0),
        "priority": read_priority(priority),
        "reply_to": read_text(reply_to, "reply_to", LONGEST_QUEUE, lowest=0),
        "placed_at": placed_at.isoformat(),
        **read_words(words.given).given,
        **({"tells_customer": True} if tells_customer else {}),
    }


def read_priority(value: object) -> int:
    """Reads a priority, 0 to 9. Raises `BadOrderError`, as every function here does."""
    return read_whole(value, "priority", 0, 9)


def read_common(body: object) -> dict[str, Any]:
    """Reads what every submission has: `subject`, `priority`, `reply_to`, `placed_at`, `tells_customer` and its
    `words`."""
    order = read_object(body, "the body")
    return {
        "subject": read_text(_given(order, "subject", ""), "subject", LONGEST_SUBJECT, lowest=0),
        "priority": read_priority(_given(order, "priority", DEFAULT_PRIORITY)),
        "reply_to": read_text(_given(order, "reply_to", ""), "reply_to", LONGEST_QUEUE, lowest=0),
        "placed_at": read_moment(order.get("placed_at"), "placed_at"),
        "words": read_words(order),
        "tells_customer": order.get("tells_customer") is True,
    }


def data_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a submission."""
    return {name: value for name, value in body.items() if name not in RESERVED}


def read_client(client: str) -> int | None:
    """Returns the key in `user:<key>`, or None for `guest`."""
    if client == GUEST:
        return None
    key = customer_of(client)
    if key is None:
        raise BadOrderError(f"the client must be guest or user:<number>, not {client[:60]!a}.")
    return key


def _given(order: Json, name: str, default: object) -> object:
    value = order.get(name)
    return default if value is None else value
