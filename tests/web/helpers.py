"""Helpers for the web tests: what they send, and what every response of a kind must look like."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from rest_framework.test import APIClient

from orders import wiring
from orders.api.problems import PROBLEMS
from orders.models import OrderProcess
from tests.support.order_bodies import order_body

T = TypeVar("T")

ORDERS = "/api/v1/orders"


def place(client: APIClient, *, key: str | None = None, **changes: Any) -> dict[str, Any]:
    """Places an order and returns its representation."""
    headers = {"Idempotency-Key": key} if key else {}
    response = client.post(ORDERS, order_body(**changes), headers=headers)
    assert response.status_code == 202, response.content
    return response.json()


def run_submission() -> None:
    """One pass of the submission process."""
    wiring.submission().run_once()


def change_state(order_id: Any, state: str) -> None:
    """Sets an order's state in the database, although nothing has happened to the order."""
    locked = (
        {"locked_by": "scheduler:test", "complete_by": "2030-01-01T00:00Z"} if state == "processing" else {}
    )
    assert OrderProcess.objects.filter(order_id=order_id).update(process_state=state, **locked)


def assert_problem(response: Any, code: str) -> dict[str, Any]:
    """Fails unless the response is this problem, in the form that all problems share. Returns its members."""
    problem = PROBLEMS[code]
    assert (response.status_code, response.headers["Content-Type"]) == (
        problem.status,
        "application/problem+json",
    ), response.content
    body: dict[str, Any] = response.json()
    assert body["code"] == code
    assert body["type"] == f"{settings.CONFIG.public_url}/api/problems/{code}"
    assert (body["status"], body["title"]) == (problem.status, problem.title)
    assert body["detail"]
    assert body["request_id"] == response.headers["X-Request-ID"]
    assert body["retryable"] is (problem.status in (408, 429, 503))
    assert body.keys() <= {
        "type", "title", "status", "detail", "code", "request_id", "retryable", "errors",
        "needed_scope", "begin", "order", "ask", "bulk_actions", "busy_orders", "total"
    }  # fmt: skip
    return body


def mistakes(response: Any) -> list[str]:
    """Where a request is invalid: its JSON pointers, parameters and headers."""
    problem = assert_problem(response, "validation_failed")
    assert all(error["detail"] for error in problem["errors"])
    return [error.get("pointer", error.get("parameter", error.get("header"))) for error in problem["errors"]]


def errors_of(response: Any) -> dict[str, list[str]]:
    """The errors of a form that was shown again, by field."""
    assert response.status_code == 200
    return dict(response.context["form"].errors)


def in_threads(number: int, work: Callable[[int], T]) -> list[Future[T]]:
    """Starts work in threads, each with its own database connection, which it closes at the end."""

    def run(index: int) -> T:
        try:
            return work(index)
        finally:
            connection.close()

    executor = ThreadPoolExecutor(number)
    futures = [executor.submit(run, index) for index in range(number)]
    executor.shutdown(wait=False)
    return futures


def pass_time(seconds: float) -> None:
    """Moves all buckets into the past."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE orders_bucket SET full_at = full_at - make_interval(secs => %s)", [seconds])
