"""A page instead of an error while the database is unavailable, or too many people sign in. The API gets a problem.

Django turns an exception into an error page wherever it is raised: in a view, but also in a middleware that reads the
session before, or stores it afterwards. So `UnavailablePage` answers what views raise, and `answer_outages`, around all
that use the database, replaces every other error page that an outage has led to.
"""

import sys
from collections.abc import Callable
from typing import Any

import structlog
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

from orders.access import password_hashing
from orders.access.outage_page import render_outage
from orders.access.outages import OUTAGES
from orders.access.password_hashing import HashingBusyError
from sasweb.problems import MEDIA_TYPE, SERVER_PROBLEMS, concerns_api, describe, encode
from sasweb.refusals import BUSY

log = structlog.get_logger()

Handler = Callable[[HttpRequest], HttpResponseBase]

TROUBLE = "_database_trouble"
"""Attribute of a request that met an outage outside of its view: the exception."""


class UnavailablePage:
    """Middleware: answers 503 when a view cannot reach the database, or when it cannot check a password now."""

    def __init__(self, get_response: Handler) -> None:
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
        return _unavailable(request, exception) if _is_outage(exception) else None


def answer_outages(get_response: Handler) -> Handler:
    """Middleware: answers 503 when another middleware cannot reach the database."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        trouble = getattr(request, TROUBLE, None)
        return response if trouble is None else _unavailable(request, trouble)

    return middleware


def _is_outage(error: BaseException | None) -> bool:
    return isinstance(error, OperationalError | InterfaceError)


class _NoReport(ExceptionReporter):
    """In place of Django's report about an exception, which DEBUG has it make: nobody will see it."""

    def get_traceback_html(self) -> SafeString:
        return SafeString("")

    def get_traceback_text(self) -> SafeString:
        return SafeString("")


def _note_trouble(sender: Any, request: HttpRequest | None = None, **_: Any) -> None:
    """Notes an outage that Django is about to answer with an error page."""
    error = sys.exc_info()[1]
    if request is not None and _is_outage(error):
        setattr(request, TROUBLE, error)
        request.exception_reporter_class = _NoReport


got_request_exception.connect(_note_trouble, dispatch_uid="orders.access.unavailable")


def _unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    log.warning(
        "database unavailable",
        action="request",
        path=request.path,
        error=str(error).strip().split("\n")[0],
    )
    wait = OUTAGES.note()
    headers = {"Retry-After": str(wait), "Cache-Control": "no-store"}
    if concerns_api(request.path_info):
        problem = describe(SERVER_PROBLEMS["unavailable"], request_id=getattr(request, "request_id", ""))
        return HttpResponse(encode(problem), status=503, headers=headers, content_type=MEDIA_TYPE)
    if request.method in ("GET", "HEAD"):
        headers["Refresh"] = str(wait)
    return HttpResponse(render_outage(request, wait=wait), status=503, headers=headers)


def _busy() -> HttpResponse:
    """The answer to a password that was not checked. It is not logged: a flood of them would flood the log, too."""
    headers = {"Retry-After": str(password_hashing.RETRY_AFTER), "Cache-Control": "no-store"}
    return HttpResponse(render_to_string("errors/busy.html"), status=503, headers=headers)
