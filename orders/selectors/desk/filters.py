"""The filter of the list of orders, as a query string and in words. Pure; the console's form reads it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

LEAST_PART = 4
"""The fewest digits of a part of an order's id; with eight it is also searched for at the beginning."""
LEAST_WORDS = 2
"""The fewest characters of a title, a SKU or an account's name."""
LONGEST = 254
NOTHING_DONE = "1"

_AGE = re.compile(r"(\d{1,5})\s*(s|m|min|h|d)")
_TOTAL = re.compile(r"(?:[A-Z]{3}|[€$£])?\s?(\d{1,9})[.,](\d\d)")
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*=.+")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True, kw_only=True)
class OrderFilter:
    """Which orders to select; an empty field selects all. `problems` has a sentence for each invalid one.

    `workflow` is the name of one; `step` and `agent` are of a step that is under way, waits or failed; `code` is of the
    order's open alert; `waiting` is an agent that one of their steps waits for, or `1` for all orders that only wait;
    `older` is an age as in 90s, 30m, 2h, 3d. `q` is an order's id, a part of its end or its beginning, an email, a
    total such as 39.00, an attribute of its kind such as method=xrd, or else a SKU, words of a title, a subject, a
    reference or an account's name. With `requested`, `q` is the ID of a request that was about these orders, and finds
    them and no others. A filter with a problem matches nothing.
    """

    q: str = ""
    state: str = ""
    kind: str = ""
    workflow: str = ""
    step: str = ""
    agent: str = ""
    code: str = ""
    waiting: str = ""
    older: str = ""
    priority: str = ""
    requested: Sequence[UUID] = field(default=(), compare=False)
    problems: tuple[str, ...] = field(default=(), compare=False)

    @property
    def query(self) -> str:
        """The filter as the query of a URL, without its empty fields."""
        return urlencode({name: getattr(self, name) for name in NAMES if getattr(self, name)})

    @property
    def is_empty(self) -> bool:
        """Whether it selects every order."""
        return not self.query

    @property
    def age(self) -> timedelta | None:
        """The age in `older`; None if it cannot be read."""
        match = _AGE.fullmatch(self.older)
        return timedelta(seconds=int(match[1]) * _UNITS[match[2]]) if match else None

    @property
    def digits(self) -> str:
        """The hexadecimal digits of `q`; empty if it is neither an id nor a part of one."""
        digits = self.q.lower().replace("-", "")
        is_id = LEAST_PART <= len(digits) <= 32 and re.fullmatch(r"[0-9a-f]+", digits)
        return digits if is_id else ""

    @property
    def order_id(self) -> UUID | None:
        """The order that `q` names in full."""
        return UUID(self.digits) if len(self.digits) == 32 else None

    @property
    def email(self) -> str:
        """The email in `q`, if it is one."""
        return self.q if "@" in self.q else ""

    @property
    def total(self) -> int | None:
        """The total in `q`, in minor units, if it is one: 39.00, €39.00 or EUR 39.00."""
        match = _TOTAL.fullmatch(self.q)
        return int(match[1] + match[2]) if match else None

    @property
    def attribute(self) -> str:
        """The attribute in `q`, if it is one: method=xrd."""
        return self.q if _ATTRIBUTE.fullmatch(self.q) and not self.email else ""

    @property
    def words(self) -> str:
        """The words in `q`, if it is nothing else."""
        is_else = self.digits or self.email or self.attribute or self.total is not None
        return "" if is_else else self.q


NAMES = tuple(field.name for field in fields(OrderFilter) if field.compare)


def describe(order_filter: OrderFilter) -> str:
    """Which orders the filter selects, for people: "orders in state error, at step create-shipment"."""
    phrases = {
        "q": "matching %(value)s",
        "state": "in state %(value)s",
        "kind": "with standing %(value)s",
        "workflow": "of workflow %(value)s",
        "step": "at step %(value)s",
        "agent": "at agent %(value)s",
        "code": "with an open alert %(value)s",
        "older": "older than %(value)s",
        "priority": "of priority %(value)s",
    }
    values = {name: getattr(order_filter, name) for name in phrases}
    parts = [phrase % {"value": values[name]} for name, phrase in phrases.items() if values[name]]
    if order_filter.waiting == NOTHING_DONE:
        parts.append("that wait")
    elif order_filter.waiting:
        parts.append(f"that wait for {order_filter.waiting}")
    return "orders {which}".format(which=", ".join(parts)) if parts else "all orders"
