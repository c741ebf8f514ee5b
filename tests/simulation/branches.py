"""Workflows that branch, in the lives that have them: parcels, each with its shipment, and steps on conditions.

How many parcels an order has, and whether there is a pallet beside them, follows from what the warehouse has answered,
so it is known from outside.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orders import wiring
from orders.engine.contracts import Json, Pending, Request, Step, Workflow, Workflows
from orders.shop.fulfilment import POINT_OF_NO_RETURN, shipment
from tests.simulation.database import Database
from tests.simulation.kernel import Violation
from tests.simulation.waits import REST
from tests.simulation.watch import Watch

RESERVATION, SHIPMENT, PALLET = "reserve-stock", "create-shipment", "create-pallet"
MOST_PARCELS = 3
RESULTS = """
SELECT p.order_id, jsonb_object_agg(s.name, s.result) FILTER (WHERE s.state = 'completed')
  FROM orders_orderprocess AS p JOIN orders_stepstate AS s ON s.order_id = p.order_id
 WHERE p.process_state = 'processed' GROUP BY p.order_id
"""


def parcels(order: Json, results: Mapping[str, Any]) -> list[Json]:
    """What is shipped apart: from no parcel to three, by the reservation."""
    return [{**shipment(order), "parcel": number} for number in range(_number(results) % (MOST_PARCELS + 1))]


def is_charged(order: Json, results: Mapping[str, Any]) -> bool:
    """Whether there is something to pay for: orders without a parcel cost nothing."""
    return bool(results[SHIPMENT])


def has_pallet(order: Json, results: Mapping[str, Any]) -> bool:
    """Whether a pallet is shipped besides. It is asked when the parcels are."""
    return _number(results) % 7 > 3


def rests(order: Json, results: Mapping[str, Any]) -> bool:
    """Whether the order rests before its shipment."""
    return _number(results) % 5 > 1


def branching(workflow: Workflow) -> Workflow:
    """The shop's workflow, which may wait, with a shipment for each parcel, perhaps a pallet, and other conditions."""
    changes: dict[str, dict[str, Any]] = {
        SHIPMENT: {"each": parcels},
        POINT_OF_NO_RETURN: {"when": is_charged, "after": (SHIPMENT, PALLET)},
        REST: {"when": rests},
    }
    steps: list[Step] = []
    for step in workflow.steps:
        steps.append(replace(step, **changes.get(step.name, {})))
        if step.name == SHIPMENT:
            steps.append(replace(step, name=PALLET, when=has_pallet))
    return replace(workflow, steps=tuple(steps))


CONDITIONS = {PALLET: has_pallet, POINT_OF_NO_RETURN: is_charged, REST: rests}


def join() -> None:
    """Has the roles run the workflow that branches, with emails that can name several parcels."""
    workflows, agents = wiring.workflows, wiring.make_agents

    def with_branches() -> Workflows:
        return {key: branching(workflow) for key, workflow in workflows().items()}

    def with_parcels() -> dict[str, Any]:
        all_agents: dict[str, Any] = dict(agents())
        return {**all_agents, "mail": ParcelMail(all_agents["mail"])}

    wiring.workflows = with_branches
    wiring.make_agents = with_parcels


def check_what_ran(database: Database, watch: Watch) -> None:
    """Each processed order had its parcels and conditions, unless an operator skipped a step. Raises `Violation`."""
    for order_id, completed in database.monitor.execute(RESULTS):
        order, results = watch.orders[order_id], {RESERVATION: None, SHIPMENT: None, **(completed or {})}
        number = _number(results) % (MOST_PARCELS + 1)
        if SHIPMENT not in order.by_hand and order.items[SHIPMENT] != number:
            raise Violation(f"C1: {order_id} was to have {number} parcels: {order.story}")
        for step, runs in CONDITIONS.items():
            if step in order.steps.keys() - order.by_hand and (step in order.skipped) is runs({}, results):
                raise Violation(f"C1: {order_id} and the condition of {step}: {order.story}")


class ParcelMail:
    """The agent for emails, which names the first parcel of several."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    async def perform(self, request: Request) -> Json | Pending:
        """The agent's own."""
        result: Json | Pending = await self._agent.perform(_about_one(request))
        return result

    async def compensate(self, request: Request) -> Json | Pending:
        """The agent's own."""
        result: Json | Pending = await self._agent.compensate(_about_one(request))
        return result


def _about_one(request: Request) -> Request:
    sent = [parcel for parcel in request.results.get(SHIPMENT) or [] if parcel]
    return replace(request, results={**request.results, SHIPMENT: sent[0] if sent else None})


def _number(results: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(results[RESERVATION], sort_keys=True).encode())
