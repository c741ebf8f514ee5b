"""Refuses a query string that cannot be read, and any of a request that acts.

Django would put a substitute in the place of bytes that are no text, so a client would get the answer to another
question. And whoever sends `?dry_run=true` with an order would not want to have it placed.
"""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from orders.api.fields import MOST_UNKNOWN
from orders.api.problems import ProblemError, refuse
from sasweb.problems import concerns_api

Handler = Callable[[HttpRequest], HttpResponseBase]

LONGEST_NAME = 200


class ActsTakeNoQuery(BasePermission):
    """Lets an act pass if its url has no parameters, as none has a meaning there. Raises `ProblemError`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        is_act = request.method not in SAFE_METHODS and hasattr(view, (request.method or "").lower())
        names = list(request.query_params)[:MOST_UNKNOWN] if is_act else []
        if names:
            errors = [{"parameter": name[:LONGEST_NAME], "detail": "Unknown parameter."} for name in names]
            raise ProblemError("validation_failed", errors=errors)
        return True


def readable_queries(get_response: Handler) -> Handler:
    """Middleware that answers 400 to a request of the API whose query cannot be read, and names the parameters."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        query = request.META.get("QUERY_STRING", "")
        if concerns_api(request.path_info) and (faults := dict(_faults(query))):
            name, fault = next(iter(faults.items()))
            errors = [{"parameter": name, "detail": fault} for name, fault in faults.items()]
            return refuse(request, "malformed_request", f"The parameter `{name}`: {fault}", errors=errors)
        return get_response(request)

    return middleware


def _faults(query: str) -> Iterator[tuple[str, str]]:
    """The name of each parameter that cannot be read, and why."""
    for parameter in query.split("&") if "%" in query else ():
        name = unquote(parameter.partition("=")[0].replace("+", " "))[:LONGEST_NAME]
        try:
            text = unquote_to_bytes(parameter).decode()
        except UnicodeDecodeError:
            yield name, "This is not UTF-8."
        else:
            if "\x00" in text:
                yield name, "This has a NUL character, which no value may have."
