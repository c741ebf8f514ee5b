"""Errors as `application/problem+json` (RFC 9457): all codes, and the one place that turns an error into a response."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.views import defaults
from rest_framework import exceptions

from orders.access.outages import OUTAGES
from orders.api.authentication import TokenExpiredError
from orders.api.scopes import MissingScopeError
from orders.api.versions import UNSUPPORTED, UnsupportedVersionError
from orders.business.reading import BadOrderError
from sasweb.problems import MEDIA_TYPE, SERVER_PROBLEMS, Problem, concerns_api, describe, encode, problems

log = structlog.get_logger()

PROBLEMS: Mapping[str, Problem] = {
    **SERVER_PROBLEMS,
    **problems(
        ("validation_failed", 400, "The request is not valid", "`errors` lists each mistake and where it is."),
        (UNSUPPORTED, 400, "This version of the API is not supported",
         "`detail` lists those that are. Name one of them in `API-Version`, or have the token pinned to it."),
        ("not_authenticated", 401, "A token is needed", "Send `Authorization: Token <token>`."),
        ("invalid_token", 401, "The token is not valid",
         "It is unknown or has been revoked, or its account is closed. A new password revokes an account's tokens. "
         "Create a new one with `manage.py token`, or ask an admin for it."),
        ("token_expired", 401, "The token has expired", "Create a new one with `manage.py token`."),
        ("scope_missing", 403, "The token may not do this",
         "`needed_scope` is the scope that is missing, and `detail` says how to create a token that has it."),
        ("permission_denied", 403, "You do not have permission",
         "The token's account may not do this. Use a token of an account that may, or ask an admin to give this one "
         "the access level that it needs: viewer to read what operators read, operator to act, admin for the rest."),
        ("not_found", 404, "Not found", "This does not exist, or belongs to another client."),
        ("method_not_allowed", 405, "This method is not allowed here", "`Allow` lists the methods that are."),
        ("not_acceptable", 406, "This format is not available", "Most responses are `application/json`."),
        ("cannot_be_cancelled", 409, "The order cannot be cancelled",
         "You can cancel an order until its point of no return."),
        ("reference_taken", 409, "The reference is taken",
         "Another order of your account has it: `order` says which. It is free again once that order is deleted."),
        ("not_waiting_for_customer", 409, "What this changes is not waiting for the customer",
         "No step of the order waits for its customer now. If you have sent this before, it was accepted: read the "
         "order."),
        ("being_cancelled", 409, "The order is cancelled", "It is being cancelled or has been, so nothing is changed."),
        ("act_refused", 409, "This cannot be done now", "`detail` says why. Nothing was changed."),
        ("total_not_agreed", 409, "The order would have another total",
         "`total` is what it would cost. Send its `amount` as `total`, beside the changes, to agree to it. Nothing was "
         "changed."),
        ("approval_required", 409, "Another person must approve this",
         "Ask with `POST /api/v1/approvals`: `act` is what `ask` says, and `body` the body of this request. An admin "
         "who is not you approves it, and then it is done."),
        ("orders_busy", 409, "Some of the orders are in another bulk action",
         "`bulk_actions` are those actions, and `busy_orders` is how many orders they have. Send `leave_out_busy` to "
         "act on the others."),
        ("count_not_confirmed", 409, "The number of orders was not confirmed",
         "Send as `count` how many orders are affected: `open` of the group in `GET /api/v1/alerts/groups`, or `count` "
         "of `POST /api/v1/bulk-actions/preview`."),
        ("already_answered", 409, "This has already been answered", "The first answer counts. Nothing was changed."),
        ("too_many_webhooks", 409, "You have ten webhooks already", "Delete one that you do not need any more."),
        ("too_late", 410, "The answer came too late",
         "The time for it is over, or what it answers is not asked any more. `detail` says which."),
        ("cursor_expired", 410, "The cursor is too old",
         "Changes after it may be missing, so start anew: `GET` the URL in `begin` for a cursor, then read all of your "
         "orders, then go on from that cursor."),
        ("body_too_large", 413, "The body is too large",
         "A request body may be up to 256 KiB, and that of a batch of orders up to 768 KiB."),
        ("unsupported_media_type", 415, "The content type is not supported", "Send `Content-Type: application/json`."),
        ("idempotency_key_reused", 422, "The Idempotency-Key was used for something else",
         "A key stands for the same order for as long as that order can be retrieved. Use a new key for a new one."),
        ("rate_limited", 429, "Too many requests", "Wait for the number of seconds in `Retry-After`."),
        ("too_many_waiting", 429, "Too many requests are waiting",
         "Wait for the number of seconds in `Retry-After`, or ask without waiting. A web process holds a limited "
         "number of waiting requests and streams, and at most a quarter of them for one account or IP address."),
        ("intake_paused", 503, "No new orders are being taken",
         "An operator has paused them. Nothing was stored: send the order again after `Retry-After` seconds. What was "
         "accepted before goes on, and an Idempotency-Key that has placed an order is still answered with it."),
    ),
}  # fmt: skip

OPERATION_PROBLEMS = "x-problems"
"""The key of the problem codes of one operation in its documentation. `orders.api.schema` turns them into responses."""

BY_EXCEPTION: Mapping[type[Exception], str] = {
    exceptions.ValidationError: "validation_failed",
    exceptions.ParseError: "malformed_request",
    UnsupportedVersionError: UNSUPPORTED,
    exceptions.NotAuthenticated: "not_authenticated",
    TokenExpiredError: "token_expired",
    exceptions.AuthenticationFailed: "invalid_token",
    MissingScopeError: "scope_missing",
    exceptions.PermissionDenied: "permission_denied",
    PermissionDenied: "permission_denied",
    exceptions.NotFound: "not_found",
    Http404: "not_found",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.Throttled: "rate_limited",
    OperationalError: "unavailable",
    InterfaceError: "unavailable",
}

SAY_MORE = (
    exceptions.ParseError,
    exceptions.AuthenticationFailed,
    MissingScopeError,
    UnsupportedVersionError,
    exceptions.Throttled,
)
"""Errors whose own detail says more than the meaning of their problem."""


class ProblemError(Exception):
    """Raised by a view to respond with a problem. Each of `errors` has a place in the request and a `detail`. `members`
    are those that only this problem has. `wait` is after how many seconds to try again, if that is known."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        errors: Sequence[Mapping[str, str]] = (),
        members: Mapping[str, Any] | None = None,
        wait: int | None = None,
    ) -> None:
        super().__init__(code, detail)
        self.wait = wait
        self.problem = PROBLEMS[code]
        self.detail = detail
        self.errors = errors
        self.members = members or {}


def invalid(detail: str, **place: str) -> ProblemError:
    """The problem of a single invalid value. `place` is one of `pointer`, `parameter` and `header`."""
    return ProblemError("validation_failed", errors=[{**place, "detail": detail}])


def misplaced(mistakes: Iterable[BadOrderError], place: str = "") -> list[dict[str, str]]:
    """These mistakes, each with the JSON pointer to where it is. `place` is where the values are, as a pointer."""
    return [{"pointer": f"{place}{pointer(error.where)}", "detail": str(error)} for error in mistakes]


def pointer(where: str) -> str:
    """The JSON pointer to a place such as `lines[2].sku`."""
    return "".join(f"/{part}" for part in re.findall(r"[^.\[\]]+", where))


def bad_values(error: BadOrderError, place: str = "") -> ProblemError:
    """The problem of values that are wrong, with each of the mistakes."""
    return ProblemError("validation_failed", errors=misplaced(error.mistakes, place))


def exception_handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """The response to an exception that a view raised. It is JSON whatever the view renders."""
    problem = _problem_of(error)
    return _respond(body_of(error, context["request"]), headers=_headers(problem, error))


def body_of(error: Exception, request: Any, *, place: str = "") -> dict[str, Any]:
    """The problem that tells the client of an error, which is logged if it is ours. `place` is where in the body of the
    request, as a JSON pointer, the mistakes are; by default it is the whole body."""
    problem = _problem_of(error)
    errors: Sequence[Mapping[str, str]] = ()
    detail = problem.meaning
    if isinstance(error, ProblemError):
        errors, detail = error.errors, error.detail or detail
    elif isinstance(error, exceptions.ValidationError):
        errors = list(pointed(error.detail))
    elif isinstance(error, SAY_MORE):
        detail = str(error.detail)
    if problem.status >= 500 and problem.code != "intake_paused":
        _log(problem, error, request.path)
    errors = [
        {**error, "pointer": place + error["pointer"]} if "pointer" in error else error for error in errors
    ]
    body = describe(problem, request_id=_request_id(request), detail=detail, errors=errors)
    if isinstance(error, MissingScopeError):
        body["needed_scope"] = error.needed.value
    if isinstance(error, ProblemError):
        body |= error.members
    return body


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, ProblemError):
        return error.problem
    code = next((code for kind, code in BY_EXCEPTION.items() if isinstance(error, kind)), "internal_error")
    return PROBLEMS[code]


def pointed(detail: Any, pointer: str = "") -> Iterable[dict[str, str]]:
    """The mistakes in a serializer's `detail`, each with the JSON pointer (RFC 6901) to its place."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            is_whole = name == "non_field_errors"
            yield from pointed(inner, pointer if is_whole else f"{pointer}/{_escaped(str(name))}")
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            is_message = isinstance(inner, str)
            yield from pointed(inner, pointer if is_message else f"{pointer}/{index}")
    else:
        yield {"pointer": pointer, "detail": str(detail)}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")[:200]


def _headers(problem: Problem, error: Exception) -> dict[str, str]:
    headers = {}
    if scheme := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = scheme
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    elif problem.status == 503:
        headers["Retry-After"] = str(OUTAGES.note())
    return headers


def _log(problem: Problem, error: Exception, path: str) -> None:
    if problem.code == "unavailable":
        reason = str(error).strip().split("\n")[0]
        log.warning("database unavailable", action="request", path=path, error=reason)
    else:
        log.error("request failed", action="request", path=path, exc_info=error)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's 400 response, sent before any view is reached. What a `BadRequest` says is meant for the client."""
    detail = str(exception) if isinstance(exception, BadRequest) else ""
    return _outside_views(request, "malformed_request", detail) or defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's 403 response. People with access to the console see it there; anybody else sees a plain page."""
    if (response := _outside_views(request, "permission_denied")) is not None:
        return response
    is_in_console = request.path.startswith("/console/") and request.user.has_perm("orders.view_console")
    page = "console/403.html" if is_in_console else defaults.ERROR_403_TEMPLATE_NAME
    return defaults.permission_denied(request, exception, template_name=page)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's 404 response."""
    return _outside_views(request, "not_found") or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's 500 response. Django has already logged the exception."""
    return _outside_views(request, "internal_error") or defaults.server_error(request)


def _outside_views(request: HttpRequest, code: str, detail: str = "") -> HttpResponse | None:
    return refuse(request, code, detail) if concerns_api(request.path_info) else None


def refuse(
    request: HttpRequest, code: str, detail: str, *, errors: Sequence[Mapping[str, str]] = ()
) -> HttpResponse:
    """The response of a middleware that lets a request get no further."""
    problem = describe(PROBLEMS[code], request_id=_request_id(request), detail=detail, errors=errors)
    return _respond(problem, headers={})


def _respond(body: Mapping[str, Any], *, headers: Mapping[str, str]) -> HttpResponse:
    content = encode(body)
    lengths = {"Content-Length": str(len(content))}  # not all of these pass the middleware that adds it
    return HttpResponse(
        content, status=body["status"], headers={**headers, **lengths}, content_type=MEDIA_TYPE
    )


def _request_id(request: Any) -> str:
    number: str = getattr(request, "request_id", "")
    return number
