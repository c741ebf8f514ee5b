"""Requests to the agents as the shop's workflow makes them, and calls of an agent that end in time."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from orders.engine.contracts import Agent, Json, Request
from orders.engine.errors import Fault
from orders.shop.fulfilment import fulfil_order
from orders.shop.time_limits import TimeLimits
from tests.support.order_bodies import PARIS

BOUND = 60.0
"""Seconds after which a test gives up waiting."""

WORKFLOW = fulfil_order(TimeLimits())
DESCRIPTION: dict[str, Any] = {
    "lines": [{"sku": "tidal-lines", "title": "Tidal Lines", "quantity": 2, "unit_price": 3900}],
    "ship_to": PARIS,
    "email": "ada@example.org",
    "payment_method": "card_ok",
    "currency": "EUR",
    "total": 7800,
}

Result = TypeVar("Result")


def forward(step: str, **changes: Any) -> Request:
    """The first request of a step of a new order."""
    order_id = uuid.uuid4()
    declared = WORKFLOW.by_name[step]
    return Request(
        order_id=order_id,
        step=step,
        operation=declared.operation,
        attempt=1,
        key=f"{order_id}/{step}/1",
        data=declared.data({**DESCRIPTION, **changes}),
        results={"authorise-payment": {"authorisation": "auth_1"}, "create-shipment": {"tracking": "trk_1"}},
        compensates=False,
        reverses="",
        seconds_left=30.0,
    )


def reversal_of(request: Request) -> Request:
    return replace(request, attempt=2, key=f"{request.key}/undo", reverses=request.key, compensates=True)


def run(agent: Agent, work: Callable[[], Awaitable[Result]]) -> Result:
    """Runs calls of an agent to their end, and closes it."""

    async def bounded() -> Result:
        try:
            async with asyncio.timeout(BOUND):
                return await work()
        finally:
            await agent.close()

    return asyncio.run(bounded())


def perform(agent: Agent, *requests: Request) -> list[Json]:
    async def work() -> list[Json]:
        return [await agent.perform(request) for request in requests]

    return run(agent, work)


def compensate(agent: Agent, *requests: Request) -> list[Json]:
    async def work() -> list[Json]:
        return [await agent.compensate(request) for request in requests]

    return run(agent, work)


def fault_of(call: Callable[[], Any]) -> Fault:
    with pytest.raises(Fault) as caught:
        call()
    return caught.value
