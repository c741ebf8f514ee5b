"""Says which requests are counted by whom, and answers 429 to those that come too often (`orders.access.limits`).

The API counts its own requests, once it knows whose token they carry (`orders.api.throttling`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.shortcuts import render

from orders.access.addresses import read_ip_address
from orders.access.limits import LimitedError, Subject, take
from orders.fields.email import normalise
from sasweb.refusals import REFUSED

SIGN_IN = ("sign_in.address",)
EMAILS = ("emails.address", "emails.recipient")
GUEST = ("checkout.address", "checkout.session", "checkout.recipient")
CUSTOMER = ("orders.account",)

POSTED: Mapping[str, tuple[str, ...]] = {
    "account:sign-in": SIGN_IN,
    "console:sign-in": SIGN_IN,
    "admin:login": SIGN_IN,
    "account:password": SIGN_IN,
    "account:reset": SIGN_IN,
    "account:finish": SIGN_IN,
    "account:sign-up": ("sign_up.address", *EMAILS),
    "account:forgotten": EMAILS,
    "shop:find-order": EMAILS,
    "order:guest-renew": ("emails.address",),
}
"""The limits that a POST to each page counts for. The checkout's depend on who orders for whom."""
EXPORTS = frozenset({"console:orders-csv", "console:alerts-csv", "console:audit-csv"})
EXPORTED = ("console:bulk", "csv")
"""The page that is an export if its `format` asks for it."""
SEARCH = "q"
"""The query parameter of every search."""


class LimitedRequests:
    """Middleware that counts requests and answers those that come too often. It needs the session and the account."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_args: Any) -> HttpResponse | None:
        """The answer to a request that comes too often, otherwise None."""
        limits = limits_of(request)
        try:
            take(subjects(request, limits))
        except LimitedError as error:
            if all(limit.endswith(".address") for limit in limits):
                request.META.get("asgi.scope", {})[REFUSED] = True
            return _too_often(request, error.wait)
        except (OperationalError, InterfaceError):
            return None  # the view meets the same trouble, and has an answer to it
        return None


def limits_of(request: HttpRequest) -> tuple[str, ...]:
    """The names of the limits that a request counts for."""
    page = request.resolver_match.view_name if request.resolver_match else ""
    if page.startswith("api:"):
        return ()
    if request.method == "POST":
        return _checkout_limits(request) if page == "shop:checkout" else POSTED.get(page, ())
    if page in EXPORTS or (page, request.GET.get("format")) == EXPORTED:
        return ("export.account",)
    if request.GET.get(SEARCH):
        return ("search.account" if page.startswith(("console:", "admin:")) else "search.address",)
    return ()


def _checkout_limits(request: HttpRequest) -> tuple[str, ...]:
    """A customer has confirmed her own email address, but may enter somebody else's."""
    if not isinstance(request.user, User):
        return GUEST
    is_own = _recipient(request) == normalise(request.user.email)
    return CUSTOMER if is_own else (*CUSTOMER, "checkout.recipient")


def subjects(request: HttpRequest, limits: Iterable[str]) -> Iterator[Subject]:
    """Who or what is counted by each of the limits. A request without one, such as the first of a session, is not."""
    for limit in limits:
        subject = _SUBJECTS[limit.rpartition(".")[2]](request)
        if subject:
            yield limit, subject


def _account(request: HttpRequest) -> str:
    return str(request.user.pk or "")


def _session(request: HttpRequest) -> str:
    return request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")


def _recipient(request: HttpRequest) -> str:
    try:
        return normalise(request.POST.get("email", ""))
    except (MultiPartParserError, SuspiciousOperation, OSError):
        return ""


_SUBJECTS: Mapping[str, Callable[[HttpRequest], str | None]] = {
    "account": _account,
    "address": read_ip_address,
    "session": _session,
    "recipient": _recipient,
}


def _too_often(request: HttpRequest, wait: int) -> HttpResponse:
    """Says that nothing was done, and when to try again. Not logged: whoever floods us would flood the log, too."""
    page = render(request, "errors/too_often.html", {"seconds": wait, "minutes": -(-wait // 60)}, status=429)
    page.headers["Retry-After"] = str(wait)
    page.headers["Cache-Control"] = "no-store"
    return page
