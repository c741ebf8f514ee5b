"""What is logged about a request has the id of its order, also where its url names the order in another way."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from structlog.contextvars import get_contextvars

from orders.api.operator_views import StepResubmission
from orders.engine.callbacks import issue_token
from orders.selectors import tracked_orders
from orders.services import answers
from tests.support.factories import make_order, step_of
from tests.support.log_lines import written_lines
from tests.support.people import person, token_of
from tests.web.shopping import guest_page

pytestmark = pytest.mark.django_db
Way = tuple[str, str, dict[str, Any]]
"""A request that fails: its method, path and body."""


def by_step(order_id: UUID, fail_at: Callable[..., None]) -> Way:
    fail_at(StepResubmission, "act")
    step = step_of(make_order({"mix": "failed"}, process_state="error", order_id=order_id), "mix")
    return "post", f"/api/v1/steps/{step.pk}/resubmit", {}


def by_callback(order_id: UUID, fail_at: Callable[..., None]) -> Way:
    fail_at(answers, "lock_order")
    return "post", f"/callbacks/{issue_token(f'{order_id}/mix/1')}", {"result": {}}


def by_link(order_id: UUID, fail_at: Callable[..., None]) -> Way:
    fail_at(tracked_orders, "order_of_guest")
    return "get", guest_page(order_id), {}


def by_number(order_id: UUID, fail_at: Callable[..., None]) -> Way:
    fail_at(tracked_orders, "order_of_customer")
    return "get", f"/orders/{order_id}/", {}


@pytest.mark.parametrize("way", [by_step, by_callback, by_link, by_number])
def test_the_line_of_an_error_names_the_order(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    order_id = UUID("018f0000-0000-7000-8000-000000000000")
    method, path, body = way(order_id, lambda *place: monkeypatch.setattr(*place, staticmethod(fail)))
    user = person("operator")
    client = Client(raise_request_exception=False, headers={"Authorization": f"Token {token_of(user)}"})
    client.force_login(user)
    with written_lines() as lines:
        answer = getattr(client, method)(path, body, content_type="application/json")
    assert answer.status_code == 500
    assert [line for line in lines if "ZeroDivisionError" in line]
    assert [line for line in lines if f"order_id={order_id}" not in line] == []
    assert "order_id" not in get_contextvars()
