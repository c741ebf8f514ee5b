"""Query parameters, and pages that a cursor links."""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.fields import Choice, Digits, Moment, NumberCursor, OneLine, OrderCursor, Strict
from orders.api.own_words import OwnWordsQuery
from orders.api.problems import ProblemError
from orders.api.representations import Out
from orders.business.submissions import LONGEST_SUBJECT
from orders.fields.numbers import LARGEST_ID
from orders.selectors.paging import Page
from orders.vocabulary import AlertKind, ProcessState

T = TypeVar("T")

LARGEST_PAGE = 100
DEFAULT_PAGE = 50
LONGEST_WAIT = 60
"""Seconds that a response may be held back."""

LONGEST_NAME = 60
"""Characters of the name of an agent."""

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


class OrderQuery(SubjectQuery, OwnWordsQuery):
    """Selects orders."""

    state = Choice(
        [state.value for state in ProcessState], default=None, help_text="Only orders in this state."
    )
    placed_after = Moment(default=None, help_text="Only orders placed after this time.")
    cursor = OrderCursor(default=None, help_text=CURSOR_HELP)


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


class MessageQuery(EventQuery):
    """Selects messages, and says how long to wait for the first of them."""

    wait = Digits(
        min_value=0,
        max_value=LONGEST_WAIT,
        default=0,
        help_text=f"How many seconds to wait for a message, at most {LONGEST_WAIT}.",
    )


class AlertGroupQuery(PageQuery):
    """Selects groups of alerts."""

    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)


class AlertQuery(AlertGroupQuery, SubjectQuery):
    """Selects alerts."""

    group = Digits(min_value=0, max_value=LARGEST_ID, default=None, help_text="Only alerts in this group.")
    kind = Choice([kind.value for kind in AlertKind], default=None, help_text="Only alerts of this kind.")
    agent = OneLine(default="", max_length=LONGEST_NAME, help_text="Only alerts about this agent.")


def read_query(kind: type[Query], request: Request) -> dict[str, Any]:
    """The values of a request's query parameters.

    Raises `ProblemError` for a parameter that is unknown, given twice, or has a value that is not allowed.
    """
    repeated = [name for name, values in request.query_params.lists() if len(values) > 1]
    if repeated:
        raise _invalid(dict.fromkeys(repeated, "Give this parameter only once."))
    try:
        values: dict[str, Any] = kind.read(request.query_params.dict())
    except ValidationError as error:
        mistakes: Any = error.detail
        raise _invalid({name: messages[0] for name, messages in mistakes.items()}) from error
    return values


def _invalid(mistakes: dict[str, str]) -> ProblemError:
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
    following = None
    if page.has_more:
        query = {**request.query_params.dict(), parameter: str(key(page.items[-1]))}
        following = f"{request.path}?{urlencode(query)}"
    return Response(kind.render({"results": page.items, "next": following}))
