"""What operators send to the API about bulk actions."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from orders.api import enumerations
from orders.api.fields import (
    UUID_PATTERN,
    Choice,
    Digits,
    Number,
    NumberCursor,
    Strict,
    Switch,
    Text,
    Token,
    Whole,
    Word,
    shared,
)
from orders.api.operator_order_queries import readable
from orders.api.operator_requests import LEAVE_OUT_BUSY
from orders.api.paging import CURSOR_HELP, LONGEST_NAME, PageQuery
from orders.fields.numbers import LARGEST_ID
from orders.selectors.desk.alert_groups import find_group
from orders.selectors.desk.bulk import SHOWN
from orders.selectors.desk.bulk_selection import MOST_CHOSEN, Selection
from orders.selectors.desk.filters import LEAST_WORDS, LONGEST, NAMES, OrderFilter
from orders.selectors.desk.query import LONGEST_QUERY
from orders.services.operators.bulk import FASTEST, MOST, MOST_WAVES, RATE, SLOWEST, STOP_SHARE, WAVES
from orders.vocabulary import BulkItemState, BulkKind, ProcessState

CONDITIONS = ", ".join("standing" if name == "kind" else name for name in NAMES)


class OrderId(Token):
    """The ID of an order, in a body."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern=UUID_PATTERN,
            message="This must be the ID of an order.",
            max_length=36,
            **options,
        )


class OrderFilterIn(Strict):
    """Which orders. All conditions must be met, and there must be at least one. They are those of the console's list.

    `q` is an order's ID, a part of it, an email address, a total such as `39.00`, an attribute of its kind such as
    `method=xrd`, or else a SKU, a subject, a reference or an account's name. `step` and `agent` are of a step that is
    under way, waits or failed. `waiting` is an agent that one of the order's steps waits for, or `1` for all that
    only wait. `code` is that of an open alert. `q` may have conditions of the query language among its words, as in the
    list of orders.
    """

    least_members = 1
    default_error_messages = {
        "unknown": f"There is no such condition. There are {CONDITIONS}.",
        "few": "Send at least one condition, such as `state`.",
    }

    def validate_q(self, value: str) -> str:
        """Refuses a query that cannot be read."""
        return readable(value)

    q = Text(min_length=LEAST_WORDS, max_length=LONGEST_QUERY, required=False)
    state = Word(list(ProcessState), required=False)
    standing = Word(enumerations.STANDINGS, required=False)
    workflow = Text(max_length=LONGEST_NAME, required=False)
    step = Text(max_length=LONGEST, required=False)
    agent = Text(max_length=LONGEST, required=False)
    waiting = Text(max_length=LONGEST, required=False)
    code = Text(max_length=LONGEST_NAME, required=False)
    older = Token(
        pattern="[0-9]{1,5}(s|m|h|d)",
        message="This must be an age such as 90s, 30m, 2h or 3d.",
        max_length=6,
        required=False,
    )
    priority = Whole(min_value=0, max_value=9, required=False)


class BulkIn(Strict):
    """What to do with many orders. An edit has `changes`: new values of fields of the orders, each of them whole."""

    kind = Word(list(BulkKind))
    changes = serializers.DictField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuses an edit without changes, and changes without an edit."""
        if attrs["kind"] == BulkKind.EDIT and not attrs.get("changes"):
            raise ValidationError({"changes": ["Say what to change, as `edit_order` takes it."]})
        if attrs["kind"] != BulkKind.EDIT and "changes" in attrs:
            raise ValidationError({"changes": ["Only an edit has changes."]})
        return attrs


class FilteredIn(BulkIn):
    """What to do with all orders that match a filter."""

    filter = OrderFilterIn()


class GroupedIn(BulkIn):
    """What to do with all orders that have an open alert of this group. With `upto`, no alert with a greater ID counts,
    so an alert that opens meanwhile adds no order."""

    group = Whole(min_value=0, max_value=LARGEST_ID)
    upto = Whole(min_value=0, max_value=LARGEST_ID, required=False)


class ChosenIn(BulkIn):
    """What to do with these orders."""

    orders = serializers.ListField(child=OrderId(), min_length=1, max_length=MOST_CHOSEN)


class AgainIn(BulkIn):
    """What to do with the orders that failed again after a bulk action that has ended, and that are still in `error`.
    Those that somebody has changed since are left out."""

    failed_of = Whole(min_value=0, max_value=LARGEST_ID, help_text="The ID of that bulk action.")


class WavesIn(Strict):
    """How to go through the orders.

    `waves` are the sizes of the first waves, and one more wave has all the other orders. The first one is a canary:
    each wave waits for the results of the one before, and the action pauses itself if more than `stop_percent` of a
    wave fails again. `rate` is the most orders a second. `count` confirms how many orders there are, as the preview
    says: it is required for more than 50 orders and for every cancellation, and if it is sent it must be right.
    """

    reason = Text(max_length=200, default="", help_text="For the orders' history and the audit log.")
    waves = serializers.ListField(
        child=Whole(min_value=1, max_value=MOST), max_length=MOST_WAVES - 1, default=list(WAVES[:-1])
    )
    rate = Number(min_value=SLOWEST, max_value=FASTEST, default=RATE)
    stop_percent = Number(min_value=0, max_value=100, default=STOP_SHARE * 100)
    count = Whole(min_value=1, max_value=MOST, required=False)
    leave_out_busy = Switch(default=False, help_text=LEAVE_OUT_BUSY)


class FilteredActionIn(FilteredIn, WavesIn):
    """An act on all orders that match a filter."""


class GroupedActionIn(GroupedIn, WavesIn):
    """An act on all orders that have an open alert of a group."""


class ChosenActionIn(ChosenIn, WavesIn):
    """An act on these orders."""


class AgainActionIn(AgainIn, WavesIn):
    """An act on the orders that failed again after a bulk action."""


PREVIEWS: Mapping[str, type[Strict]] = {
    "filter": FilteredIn,
    "group": GroupedIn,
    "orders": ChosenIn,
    "failed_of": AgainIn,
}
ACTIONS: Mapping[str, type[Strict]] = {
    "filter": FilteredActionIn,
    "group": GroupedActionIn,
    "orders": ChosenActionIn,
    "failed_of": AgainActionIn,
}
"""What a body may be, by the member that selects the orders."""


class BulkActionQuery(PageQuery):
    """Selects bulk actions. The orders of each one on a page are counted, so a page is not as long as others."""

    page_size = Digits(
        min_value=1,
        max_value=SHOWN,
        default=SHOWN,
        help_text=f"How many results to return, from 1 to {SHOWN}. The default is {SHOWN}.",
    )
    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)


class BulkItemQuery(PageQuery):
    """Selects orders of a bulk action."""

    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)

    state = Choice(list(BulkItemState), default="", help_text="Only orders in this state.")


def read_one_of(bodies: Mapping[str, type[Strict]], data: Any) -> dict[str, Any]:
    """The values of whichever body this is. Raises `ValidationError`."""
    members: Sequence[str] = list(data) if isinstance(data, Mapping) else ()
    selecting = [name for name in bodies if name in members] or [next(iter(bodies))]
    body = bodies[selecting[0]]
    try:
        values: dict[str, Any] = body.read(data)
    except ValidationError as error:
        if not isinstance(error.detail, dict) or not members:
            raise
        raise ValidationError({**error.detail, **_misplaced(members, body, selecting)}) from error
    return values


def _misplaced(members: Sequence[str], body: type[Strict], selecting: Sequence[str]) -> dict[str, list[str]]:
    """What to do about members that select orders in a way in which they cannot."""
    fields, conditions = shared(body).fields, shared(OrderFilterIn).fields
    mistakes = {
        name: "This is a condition: send it within `filter`." for name in members if name in conditions
    }
    mistakes |= dict.fromkeys(selecting[1:], f"Select orders in one way. There is `{selecting[0]}` already.")
    if selecting[0] not in members:
        mistakes[selecting[0]] = "Say which orders: send `filter`, `group`, `orders` or `failed_of`."
    return {name: [detail] for name, detail in mistakes.items() if name not in fields or name not in members}


def selection_of(values: Mapping[str, Any]) -> Selection | None:
    """The orders that a body selects; None if there is no such alert group. At most one query."""
    if "filter" in values:
        return Selection(kind=values["kind"], order_filter=_order_filter(values["filter"]))
    if "orders" in values:
        return Selection(kind=values["kind"], ids=list(map(UUID, dict.fromkeys(values["orders"]))))
    if "failed_of" in values:
        return Selection(kind=values["kind"], failed_of=values["failed_of"])
    group = find_group(values["group"])
    return None if group is None else Selection(kind=values["kind"], group=group, upto=values.get("upto"))


def _order_filter(conditions: Mapping[str, Any]) -> OrderFilter:
    words: dict[str, Any] = {name: str(value) for name, value in conditions.items()}
    standing = words.pop("standing", "").replace("_", " ")
    return OrderFilter(**words, kind=standing)
