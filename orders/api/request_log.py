"""Notes what clients ask of the API in their log (`orders.services.request_log`): acts, and whatever is refused.

A read that succeeds is not logged: reads are the most, and nobody looks for them. Nor is a request whose token is
unknown, since it is nobody's. A request that is held is logged once it is answered anew.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.permissions import SAFE_METHODS

from orders.api.versions import VERSIONED
from orders.services.request_log import REQUESTS, Line
from sasweb.holding import HOLD
from sasweb.problems import MEDIA_TYPE

Handler = Callable[[HttpRequest], HttpResponseBase]

CLIENT_TOKEN = "client_token"
"""The attribute of a request: the row of the token that it came with, which may have expired."""
ORDER_IDS = "order_ids"
"""The attribute of a request: the orders that it has placed, or the one for which it was refused."""
LONGEST_PATH, LONGEST_METHOD = 200, 10
REFUSED = 400


def log_requests(get_response: Handler) -> Handler:
    """Middleware that notes requests of clients."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        at, began = timezone.now(), time.monotonic()
        response = get_response(request)
        token = getattr(request, CLIENT_TOKEN, None)
        if token is not None and _is_logged(request, response):
            milliseconds = round((time.monotonic() - began) * 1_000)
            REQUESTS.note(_line(request, response, token, at=at, milliseconds=milliseconds))
        return response

    return middleware


def note_token(request: Any, token: Any) -> None:
    """Notes whose request it is."""
    setattr(request._request, CLIENT_TOKEN, token)


def note_orders(request: Any, order_ids: Sequence[UUID]) -> None:
    """Notes which orders a request has placed, or for which it was refused. One in its path need not be noted."""
    setattr(request._request, ORDER_IDS, order_ids)


def _is_logged(request: HttpRequest, response: HttpResponseBase) -> bool:
    is_held = HOLD in request.META.get("asgi.scope", {})
    is_of_interest = response.status_code >= REFUSED or request.method not in SAFE_METHODS
    return request.path_info.startswith(VERSIONED) and is_of_interest and not is_held


def _line(request: HttpRequest, response: Any, token: Any, **times: Any) -> Line:
    match = request.resolver_match
    is_known = match is not None and match.view_name != "api:unknown"
    order_ids = getattr(request, ORDER_IDS, ())
    if match is not None and "order_id" in match.kwargs:
        order_ids = [match.kwargs["order_id"]]
    return Line(
        request_id=request.request_id,  # type: ignore[attr-defined]
        customer_id=token.user_id,
        method=(request.method or "")[:LONGEST_METHOD],
        path=request.path_info[:LONGEST_PATH] if is_known else "",
        status=response.status_code,
        code=json.loads(response.content)["code"] if response.get("Content-Type") == MEDIA_TYPE else "",
        order_ids=order_ids,
        token=token.beginning,
        **times,
    )
