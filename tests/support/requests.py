"""Requests in their queue, and what an agent host does with them."""

from typing import Any

from django.db import transaction

from orders.engine.channels import leases
from orders.engine.channels.leases import Answer, Lease
from orders.engine.runtime.sql import fetch
from orders.models import AgentRequest
from tests.support.factories import ahead, make_order, make_request, step_of

ME = "agents:1"


def make_one(**fields: Any) -> AgentRequest:
    """A request for the kitchen, for an order of its own."""
    return make_request(step_of(make_order({"mix": "running"}), "mix"), **fields)


def many(number: int, **fields: Any) -> None:
    values = {"agent": "kitchen", "leased_by": None, "leased_until": None, "deliveries": 0} | fields
    (highest,) = fetch("SELECT coalesce(max(step_id), 0) FROM orders_agentrequest")
    AgentRequest.objects.bulk_create(
        AgentRequest(
            order_id=f"00000000-0000-0000-0000-{n:012}",
            step_id=highest[0] + n,
            step="mix",
            operation="mix-it",
            attempt=1,
            key=f"key {n}",
            body={},
            **({"complete_by": ahead(30)} | values),
        )
        for n in range(1, number + 1)
    )


def claim(room: int = 100, *, me: str = ME, **rooms: int) -> list[Lease]:
    with transaction.atomic():
        return leases.claim(room=rooms or {"kitchen": room}, me=me, seconds=8.0)


def ids(claimed: list[Lease]) -> list[int]:
    return [lease.id for lease in claimed]


def complete(lease: Lease, outcome: str = "done", *, me: str = ME, body: str = "{}", calls: int = 1) -> int:
    return leases.complete([Answer(lease.id, lease.deliveries, outcome, body, calls)], me=me)


def stored(request: AgentRequest) -> tuple[object, ...]:
    return AgentRequest.objects.filter(pk=request.pk).values_list().get()
