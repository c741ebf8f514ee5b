"""Says which requests are counted by whom, and answers 429 to those that come too often (`orders.access.limits`).

A business declares its own pages (`LIMITED_POSTS`, see `sasweb.own_settings`). The API counts its own requests, once it
knows whose token they carry (`orders.api.throttling`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, resolve

from orders.access.addresses import read_ip_address
from orders.access.limits import Count, LimitedError, Subject, take
from orders.fields.email import normalise
from sasweb.limits import DEFAULTS
from sasweb.refusals import REFUSED

SIGN_IN = ("sign_in.address",)

POSTED: Mapping[str, tuple[str, ...]] = {
    "console:sign-in": SIGN_IN,
    "admin:login": SIGN_IN,
    "order:guest-renew": ("emails.address",),
}
"""The limits that a POST to each of the platform's pages counts for."""
OTHERS = ("posts.account", "posts.address")
"""The limits that a POST to any other page counts for, unless its business declares some."""
CONSOLE = ("console:", "admin:")
"""The pages of operators, whose acts are recorded. None is refused because a neighbour of theirs posts too often."""
COUNTED_ELSEWHERE = ("api:", "callbacks:")
COUNTS = "_counts"
"""The attribute of a request that says what is left of each limit."""
READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
EXPORTS = frozenset({"console:orders-csv", "console:alerts-csv", "console:audit-csv"})
EXPORTED = ("console:bulk", "csv")
"""The page that is an export if its `format` asks for it."""
SEARCH = "q"
"""The query parameter of every search."""


class LimitedRequests:
    """Middleware that counts requests and answers those that come too often. It needs the session and the account.

    Where counts were noted (`note_counts`), the answer says what is left.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        check_declared(settings.LIMITED_POSTS)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if counts := noted_counts(request):
            for name, value in limit_headers(counts).items():
                response[name] = value
        return response

    def process_view(self, request: HttpRequest, *_args: Any) -> HttpResponse | None:
        """The answer to a request that comes too often, otherwise None."""
        return count(request, limits_of(request))


def count(request: HttpRequest, limits: Sequence[str]) -> HttpResponse | None:
    """Counts a request for these limits. Returns the answer if it comes too often, otherwise None.

    A view whose page is not declared calls it, in order to count only what was filled in without a mistake.
    """
    try:
        take(subjects(request, limits))
    except LimitedError as error:
        if all(limit.endswith(".address") for limit in limits):
            request.META.get("asgi.scope", {})[REFUSED] = True
        return _too_often(request, error.wait)
    except (OperationalError, InterfaceError):
        return None  # the view meets the same trouble, and has an answer to it
    return None


def limit_headers(counts: Sequence[Count]) -> dict[str, str]:
    """What the answer to a request says of these counts."""
    return {
        "RateLimit-Policy": ", ".join(
            f'"{count.name}";q={count.limit.most};w={count.limit.seconds}' for count in counts
        ),
        "RateLimit": ", ".join(f'"{count.name}";r={count.tokens};t={count.wait}' for count in counts),
    }


def note_counts(request: HttpRequest, counts: Sequence[Count]) -> None:
    """Has the answer to a request say what is left (draft-ietf-httpapi-ratelimit-headers)."""
    setattr(request, COUNTS, counts)


def noted_counts(request: HttpRequest) -> Sequence[Count]:
    """What the answer to a request says that is left."""
    counts: Sequence[Count] = getattr(request, COUNTS, ())
    return counts


def limits_of(request: HttpRequest) -> tuple[str, ...]:
    """The names of the limits that a request counts for."""
    page = request.resolver_match.view_name if request.resolver_match else ""
    if page.startswith(COUNTED_ELSEWHERE):
        return ()
    if request.method not in READING:
        others = () if page.startswith(CONSOLE) else OTHERS
        limits = _declared(page, others)
        return tuple(_of_account(request, request.user, limits)) if isinstance(request.user, User) else limits
    if page in EXPORTS or (page, request.GET.get("format")) == EXPORTED:
        return ("export.account",)
    if request.GET.get(SEARCH):
        return ("search.account" if page.startswith(CONSOLE) else "search.address",)
    return ()


def checks_password(method: str, path: str) -> bool:
    """Whether a request has a password checked or set."""
    if method in READING:
        return False
    try:
        page = resolve(path).view_name
    except Resolver404:
        return False
    return not set(SIGN_IN).isdisjoint(_declared(page, ()))


def _declared(page: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """The limits that a post to this page counts for; those of `others` if nobody declares it."""
    limits: tuple[str, ...] = {**settings.LIMITED_POSTS, **POSTED}.get(page, others)
    return limits


def _of_account(request: HttpRequest, user: User, limits: Sequence[str]) -> Iterator[str]:
    """Where accounts are counted, somebody with one is not counted by IP address and session as well. She has confirmed
    her own email address, but may enter somebody else's."""
    without: tuple[str, ...] = ()
    if any(_kind(limit) == "account" for limit in limits):
        is_own = _recipient(request) == normalise(user.email)
        without = ("address", "session", "recipient") if is_own else ("address", "session")
    return (limit for limit in limits if _kind(limit) not in without)


def check_declared(declared: Mapping[str, Sequence[str]]) -> None:
    """Raises `ImproperlyConfigured` if a page is to count for a limit that there is not, or that no page can count."""
    for page, limits in declared.items():
        for limit in limits:
            if limit not in DEFAULTS or _kind(limit) not in _SUBJECTS:
                countable = ", ".join(name for name in DEFAULTS if _kind(name) in _SUBJECTS)
                raise ImproperlyConfigured(
                    f"LIMITED_POSTS: {page} names the limit {limit!r}; a page can count for {countable}"
                )


def subjects(request: HttpRequest, limits: Iterable[str]) -> Iterator[Subject]:
    """Who or what is counted by each of the limits. A request without one, such as the first of a session, is not."""
    for limit in limits:
        subject = _SUBJECTS[_kind(limit)](request)
        if subject:
            yield limit, subject


def _kind(limit: str) -> str:
    """What a limit counts by."""
    return limit.rpartition(".")[2]


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
