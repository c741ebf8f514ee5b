"""The operations of the API that the command uses, as its OpenAPI document has them; a test compares both."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as it is sent. `target` is the path with the query."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation: `name` is its operationId, and `query`, `headers` and `members` are its parameters, and those
    members of its body, that the command may send. With `is_whole` the body is what the user wrote."""

    name: str
    method: str
    path: str
    accepts: str = "application/json"
    query: Sequence[str] = ()
    headers: Sequence[str] = ()
    members: Sequence[str] = ()
    is_whole: bool = False

    def request(self, values: Mapping[str, Any]) -> Request:
        """The request with these values of its parameters, by their names. What has no value is left out; a body that
        is whole is the value of `body`."""
        path = self.path.format_map({name: quote(str(value), safe="") for name, value in values.items()})
        query = urlencode(_present(self.query, values))
        headers = {name: str(value) for name, value in _present(self.headers, values).items()}
        body = None
        if self.is_whole or self.members:
            content = values["body"] if self.is_whole else _present(self.members, values)
            body = json.dumps(content).encode()
            headers["Content-Type"] = "application/json"
        return Request(
            method=self.method,
            target=f"{path}?{query}" if query else path,
            headers={"Accept": f"{self.accepts}, application/problem+json", **headers},
            body=body,
        )


def _present(names: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) not in (None, "")}


PLACE_ORDER = Operation(
    name="place_order", method="POST", path="/api/v1/orders", headers=["Idempotency-Key"], is_whole=True
)
LIST_ORDERS = Operation(name="list_orders", method="GET", path="/api/v1/orders", query=["number"])
GET_ORDER = Operation(name="get_order", method="GET", path="/api/v1/orders/{order_id}")
FOLLOW_ORDER = Operation(
    name="follow_order",
    method="GET",
    path="/api/v1/orders/{order_id}/stream",
    accepts="text/event-stream",
    headers=["Last-Event-ID"],
)
PAY_FOR_ORDER = Operation(
    name="pay_for_order",
    method="POST",
    path="/api/v1/orders/{order_id}/payment",
    members=["payment_method"],
)
CANCEL_ORDER = Operation(name="cancel_order", method="POST", path="/api/v1/orders/{order_id}/cancel")
LIST_CHANGES = Operation(
    name="list_changes", method="GET", path="/api/v1/changes", query=["after", "page_size", "wait"]
)
OPERATIONS = (PLACE_ORDER, LIST_ORDERS, GET_ORDER, FOLLOW_ORDER, PAY_FOR_ORDER, CANCEL_ORDER, LIST_CHANGES)
