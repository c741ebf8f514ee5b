"""The whole system with the laboratory beside the shop."""

from pathlib import Path
from typing import Any
from uuid import UUID

from examples.lab.samples import register
from examples.lab.standin import OPERATIONS, Laboratory
from orders.business import registry
from orders.testing import StandIn
from tests.support import invariants
from tests.support.system import System


class LabSystem(System):
    """A `System` whose agents find the laboratory's services behind a `StandIn`, which misbehaves as a test wants."""

    def __init__(self, folder: Path, laboratory: Laboratory, stand_in: StandIn) -> None:
        self.laboratory = laboratory
        self.stand_in = stand_in
        super().__init__(
            folder,
            LAB_INSTRUMENTS_URL=f"{stand_in.url}/instruments",
            LAB_REPORTS_URL=f"{stand_in.url}/reports",
            LAB_STEP_COMPLETE_BY="4",
        )

    def register(self, count: int = 1) -> list[UUID]:
        """Registers new samples, and remembers that they were acknowledged."""
        first = len(self.others)
        order_ids = [
            register(code=f"S-{number}", method="chromatography", batch="B-7")
            for number in range(first, first + count)
        ]
        self.others += order_ids
        return order_ids

    def wait_until_analysed(self) -> list[str]:
        """Waits until the laboratory's orders have ended; returns their states."""
        return self.wait_until_ended(self.others)

    def check(self) -> None:
        """Checks all invariants for both businesses, against the store and the ledgers."""
        super().check()
        self.stand_in.settle()
        invariants.check_when_quiet(
            acknowledged=self.others,
            workflow=registry.newest_workflows()["analyse-sample"],
            ledgers={service: self._entries(service) for service in OPERATIONS},
            limits=self.limits(),
            all_effects={"book": 2, "publish": 1},
            others=self.acknowledged,
        )

    def _entries(self, service: str) -> list[dict[str, Any]]:
        return [
            {
                "key": effect.key,
                "operation": effect.operation,
                "order_id": effect.key.partition("/")[0],
            }
            for effect in self.laboratory.ledger
            if effect.service == service
        ]
