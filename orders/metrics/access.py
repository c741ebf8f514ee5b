"""Who may read /metrics: whoever has `METRICS_TOKEN`, or a program on this machine if `METRICS_OPEN` is on.

Whoever sets `METRICS_OPEN` says that no proxy on this machine passes the internet on. It cannot be told from a request:
a proxy may name this machine as its host and add no header. What can be told is refused even so. To anybody else there
is no such page.
"""

import hmac
from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import get_resolver
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from orders.metrics.families import read_metrics
from orders.metrics.scrape import NoAnswerError, Scrape

Handler = Callable[[HttpRequest], HttpResponseBase]

PATH = "/metrics"
FORWARDING = ("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via")
"""Headers that most proxies add."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")

SCRAPE = Scrape(read_metrics)


def serve_metrics(get_response: Handler) -> Handler:
    """Answers /metrics, whatever `ALLOWED_HOSTS` says, without a session."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info != PATH:
            return get_response(request)
        token, is_open = settings.CONFIG.metrics_token, settings.CONFIG.metrics_open
        if token and not _has_token(request, token):
            headers = {"WWW-Authenticate": 'Bearer realm="metrics"'}
            return _answer("/metrics needs METRICS_TOKEN as a bearer token\n", 401, headers=headers)
        if not token and not (is_open and _is_local(request)):
            refuse: Callable[..., HttpResponseBase] = get_resolver().resolve_error_handler(404)
            return refuse(request, Http404("not for this client"))
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(("GET", "HEAD"))
        try:
            return _answer(SCRAPE.text(), 200, content_type=CONTENT_TYPE_PLAIN_0_0_4)
        except NoAnswerError as error:
            return _answer(f"{error}\n", 503)

    return middleware


def _has_token(request: HttpRequest, token: str) -> bool:
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(value.strip().encode(), token.encode())


def _is_local(request: HttpRequest) -> bool:
    """Whether a program on this machine asks, and not a proxy or a page in a browser on somebody's behalf."""
    try:
        is_loopback = ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
    name, _, port = request.headers.get("Host", "").rpartition(":")
    host = name if port.isdecimal() and name else request.headers.get("Host", "")
    return is_loopback and host in LOCAL_HOSTS and not any(name in request.headers for name in FORWARDING)


def _answer(
    body: str | bytes,
    status: int,
    *,
    content_type: str = "text/plain; charset=utf-8",
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    fixed = {"Cache-Control": "no-store", **(headers or {})}
    return HttpResponse(body, status=status, headers=fixed, content_type=content_type)
