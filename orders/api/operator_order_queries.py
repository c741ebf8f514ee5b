"""Which orders operators list: the filters of the console's lists as query parameters."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.api import enumerations
from orders.api.fields import Choice, Choices, Digits, NumberCursor, OneLine, OrderCursor, Strict, Token
from orders.api.paging import CURSOR_HELP, LONGEST_NAME, PageQuery
from orders.selectors.desk.compensation import UNFINISHED
from orders.selectors.desk.filters import LEAST_PART, LEAST_WORDS, OrderFilter
from orders.selectors.desk.query import LONGEST_QUERY, QueryError
from orders.selectors.desk.query_fields import FIELDS
from orders.selectors.desk.standing import StandingKind
from orders.selectors.paging import Position, read_position
from orders.vocabulary import ProcessState
from orders.wording.queries import read_query

STANDINGS = dict(zip(enumerations.STANDINGS, StandingKind, strict=True))
ARCHIVED = "archived-"
"""The beginning of a cursor behind which are archived orders only."""


class OrderFilterQuery(Strict):
    """Selects orders as the console's list does. Of several conditions, all must be met."""

    q = OneLine(
        default="",
        max_length=LONGEST_QUERY,
        help_text=(
            f"Only orders that this finds: an ID, at least {LEAST_PART} digits of its end or 8 of its beginning; an "
            "email; a total such as `39.00`; an attribute of its kind such as `method=xrd`; or else a SKU, words of a "
            f"title, a subject, a reference or an account's name, of at least {LEAST_WORDS} characters. If it finds "
            "none, those that the newest request with this ID was about. Conditions of the query language may stand "
            "among the words, such as `customer:ada total:>200 -state:processed`: "
            f"{', '.join(f'`{name}`' for name in FIELDS)}."
        ),
    )

    def validate_q(self, value: str) -> str:
        """Refuses a query that cannot be read."""
        return readable(value)

    state = Choice(list(ProcessState), default="", help_text="Only orders in this state.")
    standing = Choice(list(STANDINGS), default="", help_text="Only orders that stand here.")
    workflow = OneLine(default="", max_length=LONGEST_NAME, help_text="Only orders of this workflow.")
    step = OneLine(
        default="",
        max_length=LONGEST_NAME,
        help_text="Only unfinished orders at this step: it is under way, waits or has failed.",
    )
    agent = OneLine(
        default="", max_length=LONGEST_NAME, help_text="Only unfinished orders at a step of this agent."
    )
    waiting = OneLine(
        default="",
        max_length=LONGEST_NAME,
        help_text="Only orders that wait for this agent or, with `1`, orders for which nothing is done at present.",
    )
    code = OneLine(
        default="", max_length=LONGEST_NAME, help_text="Only orders with an open alert of this error code."
    )
    older = Token(
        pattern="[0-9]{1,5}(s|m|h|d)",
        message="This must be an age such as 90s, 30m, 2h or 3d.",
        default="",
        help_text="Only orders older than this, such as `90s`, `30m`, `2h` or `3d`.",
    )
    priority = Digits(
        min_value=0, max_value=9, default=None, help_text="Only unfinished orders of this priority."
    )


def readable(query: str) -> str:
    """The query. Raises `ValidationError`, which names the word that cannot be read."""
    try:
        read_query(query)
    except QueryError as error:
        raise serializers.ValidationError(str(error)) from error
    return query


def order_filter(values: Mapping[str, Any]) -> OrderFilter:
    """The filter in the values of an `OrderFilterQuery`."""
    words = {
        name: values[name] for name in ("q", "state", "workflow", "step", "agent", "waiting", "code", "older")
    }
    kind = STANDINGS[values["standing"]].value if values["standing"] else ""
    priority = "" if values["priority"] is None else str(values["priority"])
    return OrderFilter(**{**words, "q": values["q"].strip()}, kind=kind, priority=priority)


class SearchPosition(NamedTuple):
    """Where a page begins: behind a stored order or, with `is_archived`, behind an archived one. As text it is the
    cursor."""

    position: Position
    is_archived: bool

    def __str__(self) -> str:
        return f"{ARCHIVED if self.is_archived else ''}{self.position}"


@extend_schema_field({"type": "string", "pattern": f"^({ARCHIVED})?-?[0-9]{{1,18}}-[0-9a-f]{{32}}$"})
class SearchCursor(serializers.Field[SearchPosition, str, str, Any]):
    """A cursor of a list in which the archived orders follow the stored ones."""

    default_error_messages = OrderCursor.default_error_messages

    def to_internal_value(self, data: str) -> SearchPosition:
        position = read_position(data.removeprefix(ARCHIVED))
        if position is None:
            self.fail("invalid")
        return SearchPosition(position, data.startswith(ARCHIVED))


class OrderSearchQuery(PageQuery, OrderFilterQuery):
    """Selects orders, and says where the page begins."""

    cursor = SearchCursor(default=None, help_text=CURSOR_HELP)


class CompensationQuery(PageQuery):
    """Selects orders that are being compensated."""

    state = Choices(
        list(UNFINISHED),
        default=list(UNFINISHED),
        help_text="Only orders in this state, or in one of these; `error` is for those whose compensation failed.",
    )
    cursor = OrderCursor(default=None, help_text=CURSOR_HELP)


class SetAsideQuery(PageQuery):
    """Selects submissions that were set aside."""

    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)
