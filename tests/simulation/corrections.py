"""Operators who correct the address of orders, in the lives that have them, and have undone first what may be done.

The address does not travel to the ledger, but the carrier refuses a key that it has seen with another one.
"""

from collections import Counter

from django.db import connection

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
        """Begins."""
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
                undo=[step] if self._kernel.chance.random() < 0.9 else [],
            )
        except NoSuchOrderError:
            return
        self.acts[f"{'correct' if is_first else 'correct again'}: {result.status.value}"] += 1
