"""Batches of orders, and what was answered to each."""

import json
from collections.abc import Sequence
from typing import Any

from rest_framework.test import APIClient

from orders.api.problems import PROBLEMS
from tests.support.order_bodies import order_body
from tests.web.helpers import ORDERS

BATCH = f"{ORDERS}/batch"
MOST = 100


def item(key: str, **changes: Any) -> dict[str, Any]:
    return {"idempotency_key": key, "order": order_body(**changes)}


def post(client: APIClient, *items: Any) -> list[dict[str, Any]]:
    """The results of a batch, one for each of its orders."""
    response = client.post(BATCH, json.dumps({"orders": items}), content_type="application/json")
    assert response.status_code == 200, response.content
    results: list[dict[str, Any]] = response.json()["results"]
    assert len(results) == len(items)
    for result in results:
        if result["status"] == 202:
            assert result.keys() == {"idempotency_key", "status", "order_id", "replayed", "links"}
            assert result["links"] == {"self": f"{ORDERS}/{result['order_id']}"}
        else:
            assert result.keys() - {"idempotency_key"} == {"status", "problem"}
            problem = result["problem"]
            assert problem["status"] == result["status"] == PROBLEMS[problem["code"]].status
            assert problem["request_id"] == response.headers["X-Request-ID"]
    return results


def outcomes(results: Sequence[dict[str, Any]]) -> list[tuple[int, object]]:
    """The status of each, and whether it was replayed or which problem there was."""
    return [
        (result["status"], result["replayed"] if result["status"] == 202 else result["problem"]["code"])
        for result in results
    ]
