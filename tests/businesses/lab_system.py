"""The whole system with the laboratory beside the shop."""

import asyncio
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

from examples.lab.samples import register
from examples.lab.standin import OPERATIONS, Laboratory
from orders.business import registry
from orders.models import StepState
from orders.services.answers import decide
from orders.testing import StandIn
from orders.testing.stand_in import BOUND
from tests.support import invariants
from tests.support.system import ENDED, System
from tests.support.wait import until
from tests.web.server import Server


class HeldLaboratory(Laboratory):
    """A laboratory whose slow instrument has no result while `may_answer` is cleared."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = threading.Event()
        self.may_answer.set()

    async def _analyse(self, key: str, body: dict[str, Any], answer_to: str) -> None:
        await asyncio.to_thread(self.may_answer.wait, BOUND)
        await super()._analyse(key, body, answer_to)


class LabSystem(System):
    """A `System` whose agents find the laboratory's services behind a `StandIn`, which misbehaves as a test wants.

    The slow instrument calls back in vain, unless a test starts the web server with `serve`, and is asked every second.
    """

    def __init__(self, folder: Path, laboratory: HeldLaboratory, stand_in: StandIn, nowhere: str) -> None:
        self.laboratory = laboratory
        self.stand_in = stand_in
        self._servers: list[Server] = []
        super().__init__(
            folder,
            **{f"LAB_{service.upper()}_URL": f"{stand_in.url}/{service}" for service in OPERATIONS},
            LAB_STEP_COMPLETE_BY="4",
            LAB_POLL_AFTER="1",
            PUBLIC_URL=nowhere,
        )

    def serve(self) -> Server:
        """Starts the web server, and waits until it answers. Agents that are started afterwards have its url."""
        server = Server(
            self.folder / f"web-{len(self._servers)}.log",
            database_url=self.environment["DATABASE_URL"],
            SECRET_KEY=self.environment["SECRET_KEY"],
            VAR_DIR=str(self.folder),
        )
        self._servers.append(server)
        until(server.answers, what="the web server")
        self.environment["PUBLIC_URL"] = f"http://127.0.0.1:{server.port}"
        return server

    def register(self, count: int = 1) -> list[UUID]:
        """Registers new samples, and remembers that they were acknowledged."""
        first = len(self.others)
        order_ids = [
            register(code=f"S-{number}", method="chromatography", batch="B-7")
            for number in range(first, first + count)
        ]
        self.others += order_ids
        return order_ids

    def awaiting(self, step: str) -> list[UUID]:
        """The orders in which this step still waits for its answer."""
        steps = StepState.objects.filter(name=step, state="awaiting").exclude(complete_by=None)
        return list(steps.order_by("process_id").values_list("process_id", flat=True))

    def wait_until_awaiting(self, step: str, count: int) -> list[UUID]:
        """Waits until this step waits for its answer in so many orders; returns these."""
        until(lambda: len(self.awaiting(step)) == count, what=f"{count} orders that wait for {step}")
        return self.awaiting(step)

    def wait_until_analysed(self) -> list[str]:
        """Accepts samples until the laboratory's orders have ended; returns their states."""
        until(
            lambda: all(state in ENDED for state in self.accept()),
            seconds=240.0,
            what="the end of the laboratory's orders",
        )
        return self.states(self.others)

    def accept(self) -> list[str]:
        """Accepts every sample that waits for review; returns the states of the laboratory's orders."""
        for order_id in self.awaiting("review"):
            decide(order_id=order_id, step="review", choice="accept", by="operator:test")
        return self.states(self.others)

    def taken_back(self) -> list[UUID]:
        """The order of each effect that took something back, sorted."""
        keys = [effect.key for effect in self.laboratory.ledger]
        return sorted(UUID(key.partition("/")[0]) for key in keys if key.endswith("/undo"))

    def check(self) -> None:
        """Checks all invariants for both businesses, against the store and the ledgers."""
        super().check()
        self.stand_in.settle()
        invariants.check_when_quiet(
            acknowledged=self.others,
            workflow=registry.newest_workflows()["analyse-sample"],
            ledgers={service: self._entries(service) for service in OPERATIONS},
            limits=self.limits(),
            all_effects={"book": 2, "analyse": 2, "publish": 1},
            others=self.acknowledged,
        )

    def end(self) -> None:
        """Ends every process."""
        for server in self._servers:
            server.end()
        super().end()

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
