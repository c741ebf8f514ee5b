"""Query parameters, and pages that follow one another by a cursor."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from rest_framework.request import Request

from orders.api.problems import invalid
from orders.selectors.paging import Page

LARGEST_PAGE = 100
USUAL_PAGE = 50
LARGEST_ID = 2**63 - 1


class Query:
    """A request's query parameters. Each reader raises `ProblemError` for a value that is not allowed."""

    def __init__(self, request: Request, *known: str) -> None:
        """Refuses parameters that are not `known`, or are there twice."""
        self._request = request
        self._values: dict[str, str] = {}
        for name, values in request.query_params.lists():
            if name not in known:
                raise invalid("There is no such parameter.", parameter=name[:200])
            if len(values) > 1:
                raise invalid("This must be there once.", parameter=name)
            self._values[name] = values[0]

    def text(self, name: str) -> str:
        """A text without control characters; empty without the parameter."""
        value = self._values.get(name, "")
        if not value.isprintable():
            raise invalid("This must not have control characters.", parameter=name)
        return value

    def whole(self, name: str, default: int, *, lowest: int, highest: int) -> int:
        """A whole number."""
        value = self._values.get(name)
        if value is None:
            return default
        if (
            not (value.isascii() and value.isdigit())
            or len(value) > 19
            or not lowest <= int(value) <= highest
        ):
            raise invalid(f"This must be a whole number from {lowest} to {highest}.", parameter=name)
        return int(value)

    def limit(self) -> int:
        """The size of a page."""
        return self.whole("page_size", USUAL_PAGE, lowest=1, highest=LARGEST_PAGE)

    def uuid(self, name: str) -> UUID | None:
        """An id."""
        value = self._values.get(name)
        try:
            return UUID(value) if value is not None else None
        except ValueError as error:
            raise invalid("This must be an id.", parameter=name) from error

    def choice(self, name: str, allowed: Sequence[str]) -> str | None:
        """One of some words."""
        value = self._values.get(name)
        if value is not None and value not in allowed:
            raise invalid(f"This must be one of {', '.join(allowed)}.", parameter=name)
        return value

    def moment(self, name: str) -> datetime | None:
        """A time with its zone. An offset's plus sign that became a blank on the way is understood."""
        value = self._values.get(name)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value.replace(" ", "+") if "T" in value else value)
            if moment.tzinfo is None:
                raise ValueError("no zone")
            return moment.astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise invalid("This must be a time in ISO 8601 with its zone.", parameter=name) from error

    def next_page(self, page: Page[Any], cursor: str, value: object) -> str | None:
        """The address of the page behind this one; None if there is none."""
        if not page.has_more:
            return None
        return f"{self._request.path}?{urlencode({**self._values, cursor: str(value)})}"
