"""Bulk actions over REST, for tests: where they are, and those that an operator has started."""

from typing import Any
from uuid import UUID

from rest_framework.test import APIClient

from orders.models import BulkAction
from orders.vocabulary import TokenScope

ACTIONS = "/api/v1/bulk-actions"
ERRORS = {"kind": "resubmit", "filter": {"state": "error"}}
OPERATE, COMPENSATE = TokenScope.OPERATE, TokenScope.COMPENSATE
ACTS = {"pause": OPERATE, "resume": COMPENSATE, "stop": OPERATE, "undo": OPERATE}
"""The scope that each act on an action needs."""


def started(operator: APIClient, **members: Any) -> BulkAction:
    """A new action on all orders in Error, or on those that `members` say."""
    answer = operator.post(ACTIONS, ERRORS | members)
    assert answer.status_code == 202, answer.content
    return BulkAction.objects.get(pk=answer.json()["id"])


def orders_of(operator: APIClient, action: BulkAction, query: str = "") -> list[tuple[UUID, str]]:
    """The action's orders with their states, in its order."""
    page = operator.get(f"{ACTIONS}/{action.pk}/orders{query}").json()["results"]
    return [(UUID(item["order_id"]), item["state"]) for item in page]
