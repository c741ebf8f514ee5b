"""The filter of the list of orders, as a query string and in words. Pure; the console's form reads it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from urllib.parse import urlencode
from uuid import UUID

from orders.fields.order_numbers import MistakenNumberError, is_written_as_number, read_number
from orders.selectors.desk.query import Condition, Query, QueryError, parse
from orders.selectors.desk.query_fields import ANYTHING
from orders.selectors.desk.query_phrases import phrase

LEAST_PART = 4
"""The fewest digits of a part of an order's id; with eight it is also searched for at the beginning."""
LEAST_WORDS = 2
"""The fewest characters of a title, a SKU or an account's name."""
LONGEST = 254
NOTHING_DONE = "1"

_TOTAL = re.compile(r"(?:[A-Z]{3}|[€$£])?\s?(\d{1,9})[.,](\d\d)")
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*=.+")


@dataclass(frozen=True, kw_only=True)
class OrderFilter:
    """Which orders to select; an empty field selects all. `problems` has a sentence for each invalid one.

    `q` is a query (`orders.selectors.desk.query`). Its free words are an order's number, its id, a part of its end or
    its beginning, an email, a total such as 39.00, an attribute of its kind such as method=xrd, or else a SKU, words of
    a title, a subject, a reference, an account's name, or the beginning of a name or of a part of an email.

    The other fields are the conditions as urls of earlier releases have them, and as the API has them beside `q`:
    `kind` is a standing, `code` is of the order's open alert; `waiting` is an agent that one of their steps waits for,
    or `1` for all orders that only wait; `older` is an age as in 90s, 30m, 2h, 3d. With `requested`, `q` is the ID of a
    request that was about these orders, and finds them and no others. A filter with a problem matches nothing.
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

    @cached_property
    def parsed(self) -> Query:
        """The query with all conditions, those of the other fields first. Empty if it cannot be read."""
        try:
            return Query(conditions=(*self._fields(), *parse(self.q).conditions), text=parse(self.q).text)
        except QueryError:
            return Query()

    @cached_property
    def is_impossible(self) -> bool:
        """Whether it has a problem, or a query that cannot be read: then it matches nothing."""
        try:
            parse(self.q)
        except QueryError:
            return True
        return bool(self.problems)

    def _fields(self) -> Iterator[Condition]:
        """The fields beside `q` as conditions of the language."""
        written = {
            "state": self.state,
            "standing": self.kind.replace(" ", "_"),
            "workflow": self.workflow,
            "step": self.step,
            "agent": self.agent,
            "error": self.code,
            "waiting": ANYTHING if self.waiting == NOTHING_DONE else self.waiting,
            "age": self.older,
            "priority": self.priority,
        }
        for name, value in written.items():
            if value:
                yield Condition(name=name, values=(value,))

    def conditions(self, *names: str) -> list[Condition]:
        """The conditions on these fields."""
        return [condition for condition in self.parsed.conditions if condition.name in names]

    @property
    def text(self) -> str:
        """The free words."""
        return self.parsed.text

    @property
    def digits(self) -> str:
        """The hexadecimal digits of the words; empty if they are neither an id nor a part of one."""
        digits = self.text.lower().replace("-", "")
        is_id = LEAST_PART <= len(digits) <= 32 and re.fullmatch(r"[0-9a-f]+", digits)
        return digits if is_id else ""

    @property
    def number(self) -> str:
        """The order's number that the words are or may be; empty if they cannot be one."""
        try:
            return read_number(self.text) or ""
        except MistakenNumberError:
            return ""

    @property
    def is_mistaken_number(self) -> bool:
        """Whether the words are written as an order's number and are none, because there is a mistake in them."""
        return is_written_as_number(self.text) and not self.number

    @property
    def order_id(self) -> UUID | None:
        """The order that the words name in full."""
        return UUID(self.digits) if len(self.digits) == 32 else None

    @property
    def email(self) -> str:
        """The email in the words, if they are one."""
        return self.text if "@" in self.text else ""

    @property
    def total(self) -> int | None:
        """The total in the words, in minor units, if they are one: 39.00, €39.00 or EUR 39.00."""
        match = _TOTAL.fullmatch(self.text)
        return int(match[1] + match[2]) if match else None

    @property
    def attribute(self) -> str:
        """The attribute in the words, if they are one: method=xrd."""
        return self.text if _ATTRIBUTE.fullmatch(self.text) and not self.email else ""

    @property
    def words(self) -> str:
        """The words, if they are nothing else."""
        is_else = self.digits or self.email or self.attribute or self.total is not None
        return "" if is_else else self.text


NAMES = tuple(field.name for field in fields(OrderFilter) if field.compare)


def describe(order_filter: OrderFilter) -> str:
    """Which orders the filter selects, for people: "orders in state error, at step create-shipment"."""
    if order_filter.is_impossible:
        return "no orders, because the query cannot be read"
    query = order_filter.parsed
    parts = [f"matching {query.text}"] if query.text else []
    parts += [phrase(condition) for condition in query.conditions]
    return "orders {which}".format(which=", ".join(parts)) if parts else "all orders"
