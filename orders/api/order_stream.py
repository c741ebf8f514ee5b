"""An order's state as server-sent events, for programs: `GET orders/{id}/stream`.

The view's answer is the beginning of the stream, which the event loop goes on with (`orders.api.waiting`). A finished
order has a stream that ends at once, and a reader who knows how it ended gets 204, which ends its reconnecting. Under a
server that holds nothing, each stream ends after the current state.
"""

from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import AuthenticationFailed, NotFound
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from orders.access import api_tokens
from orders.api import documentation, representations, requests
from orders.api.authentication import valid_token
from orders.api.rendering import Renderer
from orders.api.waiting import WaitingView, hold_open
from orders.selectors import orders as order_selectors
from orders.selectors.customer_order import CustomerOrder
from sasweb.holding import Part

MEDIA_TYPE = "text/event-stream"
CONTENT_TYPE = f"{MEDIA_TYPE}; charset=utf-8"
END = b"event: end\ndata: {}\n\n"


class EventStreamRenderer(JSONRenderer):
    """Accepts a client that asks for events. What goes wrong is JSON all the same."""

    media_type = MEDIA_TYPE
    format = "events"


class OrderStream(WaitingView):
    """An order's state, and each later one."""

    renderer_classes = (EventStreamRenderer, JSONRenderer)

    @extend_schema(**documentation.FOLLOW_ORDER)
    def get(self, request: Request, order_id: UUID) -> HttpResponse:
        token: Any = request.auth
        order = order_selectors.order(order_id=order_id, customer_id=requests.reader_id(token))
        if order is None:
            raise NotFound
        part = _part(order)
        is_known = request.headers.get("Last-Event-ID") == order.version
        if is_known and part.is_last:
            return HttpResponse(status=204)
        if not part.is_last and request.method == "GET":
            read = partial(_read, token.digest, order_id)  # without the request, which is large
            hold_open(request, order_id, version=order.version, read=read)
        body = b"" if is_known else part.body
        return HttpResponse(body, content_type=CONTENT_TYPE, headers={"X-Accel-Buffering": "no"})


def _read(digest: str, order_id: UUID) -> Part:
    """The order as it is now. Its stream ends if the order is gone, or the token with this hash may no longer read it.
    Counts nothing: the client has not asked."""
    try:
        token = valid_token(api_tokens.find_again(digest), now=timezone.now())
        order = order_selectors.order(order_id=order_id, customer_id=requests.reader_id(token))
    except AuthenticationFailed:
        order = None
    finally:
        connection.close()
    return _part(order) if order else Part("", b"", is_last=True)


def _part(order: CustomerOrder) -> Part:
    """The event that says where an order stands, and that there is no other if it is finished."""
    data = Renderer().render(representations.OrderOut.render(order))
    event = b"id: %b\nevent: order\ndata: %b\n\n" % (order.version.encode(), data)
    return Part(order.version, event + END if order.is_finished else event, order.is_finished)
