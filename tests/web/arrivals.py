"""Orders as requests that arrive at the web process at the same moment, and what becomes of each."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from rest_framework.test import APIClient

from orders.api.new_orders import NewOrders
from tests.support.order_bodies import order_body
from tests.web.helpers import ORDERS

Sent = dict[str, Any]
"""A request, as the server passes it on: its scope, with the body as `body`."""


def order(client: APIClient, key: str, *, body: Any = None, **more: str) -> Sent:
    """An order under this key, with `more` headers."""
    headers = {
        "Host": "localhost",
        "Authorization": f"Token {client.token}",
        "Content-Type": "application/json",
        "Idempotency-Key": key,
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    sent = body if isinstance(body, bytes) else json.dumps(body or order_body()).encode()
    return {
        "type": "http",
        "scheme": "http",
        "method": "POST",
        "path": ORDERS,
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "body": sent,
    }


async def place_in(orders: NewOrders, request: Sent) -> dict[str, Any] | None:
    """The order in the answer; None if the request goes on to Django."""
    messages: list[dict[str, Any]] = []

    async def note(message: dict[str, Any]) -> None:
        messages.append(message)

    assert await orders.answer(request, request["body"], note) is bool(messages)
    if not messages:
        return None
    start, body = messages
    headers = dict(start["headers"])
    assert start["status"] == 202 and int(headers[b"content-length"]) == len(body["body"])
    placed: dict[str, Any] = json.loads(body["body"])
    assert headers[b"location"].decode() == placed["links"]["self"]
    return placed


def send(*requests: Sent) -> Sequence[dict[str, Any] | None]:
    """What `place_in` returns for requests that arrive at the same moment."""

    async def send_all() -> Sequence[dict[str, Any] | None]:
        orders = NewOrders()
        return await asyncio.gather(*(place_in(orders, request) for request in requests))

    return asyncio.run(asyncio.wait_for(send_all(), 60.0))
