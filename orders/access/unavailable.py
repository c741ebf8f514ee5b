"""A page instead of an error while the database is unavailable, or too many people sign in. The API has its own
answer."""

from collections.abc import Callable
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string

from orders.access import password_hashing
from orders.access.outages import OUTAGES
from orders.access.password_hashing import HashingBusyError
from sasweb.refusals import BUSY

log = structlog.get_logger()


class UnavailablePage:
    """Middleware: answers 503 when a view cannot reach the database, with a page that reloads itself, or when it cannot
    check a password now."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_args: Any) -> HttpResponse | None:
        """The answer to a password that has waited too long, otherwise None."""
        return _busy() if request.META.get("asgi.scope", {}).get(BUSY) else None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The answer to an exception raised in a view; None leaves it to other handlers."""
        if isinstance(exception, HashingBusyError):
            return _busy()
        if not isinstance(exception, OperationalError | InterfaceError):
            return None
        log.warning(
            "database unavailable",
            action="request",
            path=request.path,
            error=str(exception).strip().split("\n")[0],
        )
        wait = str(OUTAGES.note())
        headers = {"Retry-After": wait, "Cache-Control": "no-store"}
        if request.method == "GET":
            headers["Refresh"] = wait
        return HttpResponse(render_to_string("503.html"), status=503, headers=headers)


def _busy() -> HttpResponse:
    """The answer to a password that was not checked. It is not logged: a flood of them would flood the log, too."""
    headers = {"Retry-After": str(password_hashing.RETRY_AFTER), "Cache-Control": "no-store"}
    return HttpResponse(render_to_string("errors/busy.html"), status=503, headers=headers)
