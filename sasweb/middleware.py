"""Middleware for every request: a request id, no odd method or url, a load balancer's probes, the right headers."""

import re
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import get_resolver
from structlog.contextvars import bound_contextvars, unbind_contextvars

from sasweb import logs, readiness, traceparents
from sasweb.problems import concerns_api
from sasweb.request_ids import keep_or_make

Handler = Callable[[HttpRequest], HttpResponseBase]

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
WITHOUT_CONTENT = (204, 304)
NUL = re.compile("%00|\x00")

STRANGE_HOST = (
    "`Host` does not name this server. Its operators list the names that it has in `ALLOWED_HOSTS`."
)

API = ("/api/", "/callbacks/")
PERSONAL = ("/account/", "/console/", "/admin/")
"""What is under these paths, and the API's, is stored by no cache unless its view says otherwise."""

POLICY = "; ".join(
    (
        "default-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
# Swagger UI writes style attributes and draws its icons from data: URLs. It runs no script other than our own files.
DOCS_POLICY = f"{POLICY}; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
# What Django shows of an error in DEBUG has its style and its script within the page.
TRACES_POLICY = f"{POLICY}; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'"
WITH_TRACES = (400, 404, 500)


def request_id(get_response: Handler) -> Handler:
    """Gives each request an id, or keeps the id that it came with, and puts it into X-Request-ID and every log
    line. The lines about a request whose url names an order have the order's id as well, and so have those that follow
    once a view knows the order and has bound `order_id`."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        number = keep_or_make(request.headers.get("X-Request-ID", ""))
        request.request_id = number  # type: ignore[attr-defined]
        traceparent = request.headers.get("traceparent", "")
        about = logs.about(request.path_info)
        with bound_contextvars(request_id=number, **about), traceparents.keep(traceparent):
            try:
                response = get_response(request)
            finally:
                unbind_contextvars("order_id")
        response["X-Request-ID"] = number
        return response

    return middleware


def probes(get_response: Handler) -> Handler:
    """Answers /healthz, /readyz and /readyz/system, whatever host name the probe uses."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info == "/healthz":
            return _line("ok", status=200)
        if request.path_info == "/readyz":
            problem = readiness.find_problem()
            return _line(problem or "ready", status=503 if problem else 200)
        if request.path_info == "/readyz/system":
            problems = readiness.SYSTEM.find_problems()
            return _line("\n".join(problems) or "well", status=503 if problems else 200)
        return get_response(request)

    return middleware


def _line(text: str, *, status: int) -> HttpResponse:
    body = f"{text}\n"
    headers = {"Content-Length": str(len(body)), "Cache-Control": "no-store"}
    return HttpResponse(body, status=status, headers=headers, content_type="text/plain; charset=utf-8")


def known_methods(get_response: Handler) -> Handler:
    """Answers 405 to TRACE and to methods that nobody knows, which some views would take for GET."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        # The API refuses them itself, with a problem.
        if request.method in METHODS or concerns_api(request.path_info):
            return get_response(request)
        return HttpResponseNotAllowed(METHODS)

    return middleware


def no_misspelt_api(get_response: Handler) -> Handler:
    """Answers 404 to a url that is meant for the API but does not begin as its urls do, such as `/API/…` and `/api`.
    Otherwise Django would redirect some of them, and show its own page of the others where DEBUG is on."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if concerns_api(request.path_info) and not request.path_info.startswith(API):
            return _refuse(request, 404, Http404("no url of the API begins like this"))
        return get_response(request)

    return middleware


def no_strange_host(get_response: Handler) -> Handler:
    """Answers 400 to a request of the API for a host that is not ours. Otherwise Django would, and show its own page
    where DEBUG is on."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if concerns_api(request.path_info):
            try:
                request.get_host()
            except DisallowedHost:
                return _refuse(request, 400, BadRequest(STRANGE_HOST))
        return get_response(request)

    return middleware


def no_api_cookies(get_response: Handler) -> Handler:
    """Takes the cookies out of the API's answers: Django replaces and deletes those of a request that it does not know,
    and a client of the API has no use for any."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if concerns_api(request.path_info):
            response.cookies.clear()
        return response

    return middleware


def no_nul(get_response: Handler) -> Handler:
    """Answers 400 to a NUL character in a url: the database takes none, and no page has a use for one."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if "\x00" in request.path_info or NUL.search(request.META.get("QUERY_STRING", "")):
            return _refuse(request, 400, BadRequest("The url has a NUL character."))
        return get_response(request)

    return middleware


def _refuse(request: HttpRequest, status: int, error: Exception) -> HttpResponseBase:
    """The project's page for this error. It is not raised: Django would log it with a traceback, and anybody can send
    as many such requests as she likes."""
    answer: Callable[..., HttpResponseBase] = get_resolver().resolve_error_handler(status)
    return answer(request, error)


def no_length_without_content(get_response: Handler) -> Handler:
    """Takes the length of nothing away, which Django adds to answers that may have none (RFC 9110, section 8.6)."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if response.status_code in WITHOUT_CONTENT:
            response.headers.pop("Content-Length", None)
        return response

    return middleware


def _policy(request: HttpRequest, response: HttpResponseBase) -> str:
    if settings.DEBUG and response.status_code in WITH_TRACES:
        return TRACES_POLICY
    return DOCS_POLICY if request.path_info == "/api/docs/" else POLICY


def security_headers(get_response: Handler) -> Handler:
    """Adds the content security policy and the permissions policy, and keeps personal answers out of caches; Django's
    own middleware adds the rest."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", _policy(request, response))
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        if request.path_info.startswith(PERSONAL) or concerns_api(request.path_info):
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    return middleware
