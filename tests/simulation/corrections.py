"""Operators who correct the address of orders, in the lives that have them, and have reversed first what may be done.

The address does not travel to the ledger, but the carrier refuses a key that it has seen with another one.
"""

from collections import Counter
from typing import Any

from django.db import connection

from orders import wiring
from orders.engine.contracts import Json, Pending, Request
from orders.engine.errors import Unresolved
from orders.engine.runtime.sql import DATABASE_TROUBLE, fetch
from orders.services.audit import Actor
from orders.services.operators import order_editing
from orders.services.order_lock import NoSuchOrderError
from tests.simulation.kernel import Kernel, Process
from tests.support.order_bodies import DELFT

OPERATOR = Actor(name="operator:desk")
SHIPMENT = "create-shipment"
CORRECTABLE = """
    SELECT order_id, name, next_request IS NULL FROM orders_stepstate
     WHERE name = %s AND (state = 'failed' AND outcome = 'unknown' OR next_request IS NOT NULL)
     ORDER BY order_id LIMIT 40
"""


class Corrections:
    """The operators, who act every now and then until they leave."""

    def __init__(self, kernel: Kernel) -> None:
        self.acts: Counter[str] = Counter()
        self.have_left = False
        self._kernel = kernel
        self._number = 0

    def join(self) -> None:
        """Begins, with a carrier that often leaves open what it did."""
        agents = wiring.make_agents

        def with_doubts() -> dict[str, Any]:
            all_agents: dict[str, Any] = dict(agents())
            return {**all_agents, "carrier": DoubtfulAgent(all_agents["carrier"], self._kernel)}

        wiring.make_agents = with_doubts
        self._kernel.spawn(Process("desk"), "correct", self._run)

    def _run(self) -> None:
        chance = self._kernel.chance
        while not self.have_left:
            self._kernel.pause(chance.uniform(0.05, 0.8))
            try:
                orders = fetch(CORRECTABLE, [SHIPMENT])
                if orders:
                    self._correct(*chance.choice(orders))
            except DATABASE_TROUBLE:
                connection.close()

    def _correct(self, order_id: object, step: str, is_first: bool) -> None:
        self._number += 1
        address = {**DELFT, "street": f"Lane {self._number}"}
        try:
            result = order_editing.edit_order(
                order_id=order_id,  # type: ignore[arg-type]
                changes={"ship_to": address},
                seen={},
                actor=OPERATOR,
                reason="she moved",
                reverse=[step] if self._kernel.chance.random() < 0.9 else [],
            )
        except NoSuchOrderError:
            return
        self.acts[f"{'correct' if is_first else 'correct again'}: {result.status.value}"] += 1


class DoubtfulAgent:
    """The carrier, some of whose answers say nothing, whether or not it has done what was asked."""

    def __init__(self, agent: Any, kernel: Kernel) -> None:
        self._agent = agent
        self._kernel = kernel

    def __getattr__(self, name: str) -> Any:
        if name == "inquire":
            raise AttributeError(name)
        return getattr(self._agent, name)

    async def perform(self, request: Request) -> Json | Pending:
        """The agent's own, or an answer that says nothing, before or after it."""
        return await self._doubtful(self._agent.perform, request)

    async def compensate(self, request: Request) -> Json | Pending:
        """The same of a compensation."""
        return await self._doubtful(self._agent.compensate, request)

    async def _doubtful(self, work: Any, request: Request) -> Json | Pending:
        fate = self._kernel.chance.random()
        if fate < 0.15:
            raise Unresolved("no_idea", "it did not say")
        result: Json | Pending = await work(request)
        if fate < 0.4:
            raise Unresolved("no_idea", "it did not say")
        return result
