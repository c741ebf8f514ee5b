"""Restate: a workflow of four durable steps. Run in an environment with `restate-sdk`; hypercorn serves `served`.

Restate calls a service rather than the service asking for work, so its workers are there before the orders. A batch is
therefore submitted for one moment in the future, at which all of its orders start.
"""

import asyncio
import time
from datetime import datetime
from typing import Any

import httpx
import restate

from bench.contenders.app import STEPS, App, Times, main, order_names

AT_ONCE = 20
"""Requests that submit orders at the same time."""
SUBMITTED_A_SECOND = 40
"""Orders that even a busy machine submits within a second."""
orders = restate.Workflow("Orders")


def answer_at_once(name: str) -> dict[str, str]:
    """One step."""
    return {"ok": name}


@orders.main()
async def run(context: restate.WorkflowContext, order: str) -> str:
    for name in STEPS:
        await context.run_typed(name, answer_at_once, name=name)
    return "processed"


served = restate.app([orders])


class Restate(App):
    """Its address is the urls of the server's ingress and of its admin interface, with a comma between them."""

    async def fill(self, batch: str, count: int) -> None:
        starts = time.time() + (1 + count / SUBMITTED_A_SECOND if count > 1 else 0)
        turns = asyncio.Semaphore(AT_ONCE)

        async def submit(order: str) -> None:
            async with turns:
                wait = round(1000 * (starts - time.time()))
                assert wait > 0 or count == 1, "the orders start before all are submitted"
                delay = {"delay": f"{wait}ms"} if count > 1 else {}
                answer = await client.post(f"/Orders/{order}/run/send", json=order, params=delay)
                answer.raise_for_status()

        async with self._client(0) as client:
            await asyncio.gather(*(submit(order) for order in order_names(batch, count)))

    async def buy(self, batch: str) -> None:
        await self.fill(batch, 1)
        (order,) = order_names(batch, 1)
        async with self._client(0) as client:
            (await client.get(f"/restate/workflow/Orders/{order}/attach")).raise_for_status()

    async def work(self, worker: str) -> None:
        raise NotImplementedError("hypercorn serves `served`")

    async def count_ended(self, batch: str) -> int:
        return int((await self._query(batch, "count(*) AS ended"))[0]["ended"])

    async def times(self, batch: str, count: int) -> list[Times]:
        rows = await self._query(
            batch, "created_at, running_at, completed_at, journal_commands_size AS commands"
        )
        commands = len(STEPS) + 2  # its input and output are commands, too
        return [
            Times(*(_seconds(row[name]) for name in ("created_at", "running_at", "completed_at")))
            for row in rows
            if row["commands"] == commands
        ]

    async def _query(self, batch: str, columns: str) -> list[dict[str, Any]]:
        """Reads the orders of a batch that have ended."""
        query = (
            f"SELECT {columns} FROM sys_invocation WHERE target_service_name = 'Orders'"
            f" AND completion_result = 'success' AND target_service_key LIKE '{batch}-%'"
        )
        async with self._client(1) as client:
            answer = await client.post(
                "/query", json={"query": query}, headers={"Accept": "application/json"}
            )
            answer.raise_for_status()
            rows: list[dict[str, Any]] = answer.json()["rows"]
            return rows

    def _client(self, which: int) -> httpx.AsyncClient:
        """A client of the ingress (0) or of the admin interface (1)."""
        return httpx.AsyncClient(base_url=self.address.split(",")[which], timeout=60, trust_env=False)


def _seconds(moment: str) -> float:
    """Seconds since 1970 of a time as Restate writes it."""
    return datetime.fromisoformat(moment).timestamp()


if __name__ == "__main__":
    main(Restate)
