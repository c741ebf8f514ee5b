"""Cakes that wait for somebody's decision, and what became of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from orders.models import AgentReply, AuditEntry, OrderProcess
from tests.support.businesses import Oven, TastedCakes, business
from tests.support.factories import ahead, make_order, make_purchase

API = "/api/v1"
FLOW = TastedCakes.workflow
TASTED = {(FLOW.name, FLOW.version): FLOW}
TASTE = {"kind": "decision", "choices": ["serve", "bake again", "bin"]}


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """A business whose cakes are tasted."""
    with business(settings, kinds=[TastedCakes], agents=[Oven()]):
        yield


def a_cake(*, total: int | None = 3_900, title: str = "walnut cake", **taste: Any) -> OrderProcess:
    """A cake that waits to be tasted, and for its flour."""
    steps = {
        "mix": "completed",
        "taste": {"state": "awaiting", "awaits": TASTE, **taste},
        "flour": {"state": "awaiting", "awaits": {"kind": "event"}},
    }
    order = make_order(steps, workflow=FLOW, not_before=ahead(9_000))
    make_purchase(order.pk, total=total, currency="EUR" if total else "", title=title, subject="table 7")
    return order


def at(order: OrderProcess) -> str:
    return f"/console/orders/{order.pk}/"


def decision_of(order: OrderProcess) -> str:
    return f"{API}/orders/{order.pk}/steps/taste/decision"


def answers() -> list[Any]:
    return list(AgentReply.objects.order_by("id").values_list("body", flat=True))


def audited(act: str = "decide") -> list[tuple[str, str, str, bool]]:
    return list(
        AuditEntry.objects.filter(act=act).order_by("id").values_list("actor", "result", "reason", "allowed")
    )


def text_of(page: Any) -> str:
    return " ".join(page.content.decode().split())
