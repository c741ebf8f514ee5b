"""Refuses a query string that has a NUL character, or bytes that are no text, before anything is read from it.

Django would put a substitute in the place of such bytes, so a client would get the answer to another question.
"""

from collections.abc import Callable, Iterator
from urllib.parse import unquote, unquote_to_bytes

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from orders.api.problems import refuse
from sasweb.problems import concerns_api

Handler = Callable[[HttpRequest], HttpResponseBase]

LONGEST_NAME = 200


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
