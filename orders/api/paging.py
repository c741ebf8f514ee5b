"""Query parameters, and pages that a cursor links."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.fields import (
    Choice,
    Choices,
    Digits,
    Flag,
    Moment,
    NumberCursor,
    NumberOfOrder,
    OneLine,
    OrderCursor,
    Strict,
    Token,
    shared,
)
from orders.api.own_words import OwnWordsQuery
from orders.api.problems import ProblemError
from orders.api.representations import EXPANDED, OrderOut, OrderSummaryOut, Out
from orders.business.intake import LARGEST_AMOUNT, LONGEST_SKU
from orders.business.submissions import LONGEST_SUBJECT
from orders.fields.numbers import LARGEST_ID
from orders.selectors.listed_orders import PARTS
from orders.selectors.paging import Page
from orders.vocabulary import AlertKind, ProcessState, WaitingFor

T = TypeVar("T")

LARGEST_PAGE = 100
DEFAULT_PAGE = 50
LONGEST_WAIT = 60
"""Seconds that a response may be held back."""

LONGEST_NAME = 60
"""Characters of the name of an agent or a step, or of an error code."""

CURSOR_HELP = "Where the page starts. Follow `next` instead of building a cursor yourself."


class Query(Strict):
    """The query parameters of a request."""

    default_error_messages = {"unknown": "Unknown parameter."}


class PageQuery(Query):
    """The parameters of every list."""

    page_size = Digits(
        min_value=1,
        max_value=LARGEST_PAGE,
        default=DEFAULT_PAGE,
        help_text=f"How many results to return, from 1 to {LARGEST_PAGE}. The default is {DEFAULT_PAGE}.",
    )


class SubjectQuery(PageQuery):
    """Selects by what an order is about."""

    subject = OneLine(
        default="", max_length=LONGEST_SUBJECT, help_text="Only results of orders with exactly this subject."
    )


def fields_of(kind: type[Out]) -> Choices:
    """The parameter that says which members of an object to return."""
    return Choices(
        list(kind.member_names()),
        default=[],
        help_text=(
            "Only these members of an order, with commas between them. The others are left out, also those that an "
            "order always has. By default it has all but those that `expand` adds."
        ),
    )


def expansion(parts: Sequence[str], help_text: str) -> Choices:
    """The parameter that asks for members that are returned only then."""
    return Choices(parts, default=[], help_text=help_text)


class OrderQuery(SubjectQuery, OwnWordsQuery):
    """Selects orders, and says what to return of each. Of several conditions, all must be met."""

    number = NumberOfOrder(
        default="",
        help_text="Only the order with this number, in any case, with or without its hyphen.",
    )
    state = Choices(
        list(ProcessState), default=[], help_text="Only orders in this state, or in one of these."
    )
    waiting_for = Choices(
        list(WaitingFor), default=[], help_text="Only orders that wait for this, or for one of these."
    )
    step = OneLine(
        default="",
        max_length=LONGEST_NAME,
        help_text=(
            "Only orders that are at this step, as far as they are not finished: it has begun and has not ended. "
            "Where no step has, it is the first that has yet to begin."
        ),
    )
    placed_after = Moment(default=None, help_text="Only orders placed after this time.")
    placed_before = Moment(default=None, help_text="Only orders placed before this time.")
    updated_after = Moment(default=None, help_text="Only orders whose `updated_at` is after this time.")
    sku = OneLine(default="", max_length=LONGEST_SKU, help_text="Only orders with a line of this SKU.")
    total_at_least = Digits(
        min_value=0,
        max_value=LARGEST_AMOUNT,
        default=None,
        help_text="Only orders with a total of this or more, in minor units. Give the `currency` as well.",
    )
    total_at_most = Digits(
        min_value=0,
        max_value=LARGEST_AMOUNT,
        default=None,
        help_text="Only orders with a total of this or less, in minor units. Give the `currency` as well.",
    )
    currency = Token(
        pattern="[A-Z]{3}",
        message="This must be three capital letters, such as EUR.",
        default="",
        help_text="Only orders with a total in this currency.",
    )
    fields = fields_of(OrderSummaryOut)  # type: ignore[assignment]
    expand = expansion(PARTS, "Also the lines or the steps of each order.")
    cursor = OrderCursor(default=None, help_text=CURSOR_HELP)


class OrderPartsQuery(Query):
    """Says what to return of an order."""

    fields = fields_of(OrderOut)  # type: ignore[assignment]
    expand = expansion(
        EXPANDED,
        "Also the order's first events, as from its `events`, or its progress, as from its `progress`.",
    )


class DecisionQuery(SubjectQuery):
    """Selects decisions."""

    cursor = OrderCursor(default=None, help_text=CURSOR_HELP)


class EventQuery(PageQuery):
    """Selects what follows an ID."""

    after = Digits(
        min_value=0,
        max_value=LARGEST_ID,
        default=0,
        help_text="Only results with an ID greater than this one.",
    )


def waits_for(what: str) -> Digits:
    """The parameter that says how long to wait for the first result."""
    return Digits(
        min_value=0,
        max_value=LONGEST_WAIT,
        default=0,
        help_text=f"How many seconds to wait for a {what}, at most {LONGEST_WAIT}.",
    )


class MessageQuery(EventQuery):
    """Selects messages, and says how long to wait for the first of them."""

    wait = waits_for("message")


class CauseQuery(PageQuery):
    """Selects alerts, or groups of them, by what has caused them."""

    kind = Choice([kind.value for kind in AlertKind], default=None, help_text="Only alerts of this kind.")
    agent = OneLine(default="", max_length=LONGEST_NAME, help_text="Only alerts about this agent.")
    code = OneLine(default="", max_length=LONGEST_NAME, help_text="Only alerts with this error code.")
    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)


class AlertGroupQuery(CauseQuery):
    """Selects groups of alerts."""

    acknowledged = Flag(
        default=None,
        help_text="Only groups that somebody has acknowledged since they last began, or only the others.",
    )
    owner = OneLine(
        default=None,
        max_length=150,
        help_text="Only groups of the account with this name; an empty one for those that nobody owns.",
    )
    snoozed = Flag(default=None, help_text="Only groups that are snoozed, or only the others.")


class ClosedAlertQuery(PageQuery):
    """Selects closed alerts."""

    cursor = OrderCursor(default=None, help_text=CURSOR_HELP)


class AlertQuery(CauseQuery, SubjectQuery):
    """Selects alerts."""

    group = Digits(min_value=0, max_value=LARGEST_ID, default=None, help_text="Only alerts in this group.")


def read_query(kind: type[Query], request: Request) -> dict[str, Any]:
    """The values of a request's query parameters.

    Raises `ProblemError` for a parameter that is unknown, has a value that is not allowed, or is given twice though it
    takes one value only.
    """
    takes_several = {name for name, field in shared(kind).fields.items() if isinstance(field, Choices)}
    repeated = [
        name for name, values in request.query_params.lists() if len(values) > 1 and name not in takes_several
    ]
    if repeated:
        raise invalid_query(dict.fromkeys(repeated, "Give this parameter only once."))
    try:
        values: dict[str, Any] = kind.read(_joined(request))
    except ValidationError as error:
        mistakes: Any = error.detail
        raise invalid_query({name: messages[0] for name, messages in mistakes.items()}) from error
    return values


def _joined(request: Request) -> dict[str, str]:
    """The query parameters, with commas between several values of one."""
    return {name: ",".join(values) for name, values in request.query_params.lists()}


def invalid_query(mistakes: dict[str, str]) -> ProblemError:
    """What is wrong with which query parameters, as a problem to raise."""
    errors = [{"parameter": name[:200], "detail": str(detail)} for name, detail in mistakes.items()]
    return ProblemError("validation_failed", errors=errors)


def render_page(
    kind: type[Out],
    request: Request,
    page: Page[T],
    *,
    key: Callable[[T], object],
    parameter: str = "cursor",
) -> Response:
    """A page, with the URL of the next one in `next`.

    That URL repeats the request's query and sets `parameter` to the `key` of the last result.
    """
    following = next_url(request, parameter, key(page.items[-1])) if page.has_more else None
    return Response(kind.render({"results": page.items, "next": following}))


def next_url(request: Request, parameter: str, value: object) -> str:
    """The URL of the request, with this value of the parameter."""
    return f"{request.path}?{urlencode({**_joined(request), parameter: str(value)})}"
