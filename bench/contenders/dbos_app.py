"""DBOS: a durable workflow of four steps on a queue in PostgreSQL. Run in an environment with `dbos`."""

import asyncio

import psycopg
from dbos import DBOS, DBOSClient

from bench.contenders.app import STEPS, App, Times, main, order_names, until_signal

QUEUE = "orders"
AT_ONCE = 100
"""Workflows that one process runs at the same time."""
POLL = 0.1
"""Seconds between two looks at the queue; by default DBOS looks once a second."""


@DBOS.step()
def answer_at_once(name: str) -> dict[str, str]:
    return {"ok": name}


@DBOS.workflow()
def four_steps(order: str) -> str:
    for name in STEPS:
        answer_at_once(name)
    return "processed"


class Dbos(App):
    """Its address is a database's url."""

    async def prepare(self) -> None:
        await asyncio.to_thread(self._launch, "prepare")
        DBOS.destroy()

    async def fill(self, batch: str, count: int) -> None:
        client = DBOSClient(system_database_url=self.address)
        for order in order_names(batch, count):
            client.enqueue(
                {
                    "queue_name": QUEUE,
                    "workflow_name": four_steps.__qualname__,
                    "workflow_id": order,
                    "app_version": "1",
                },
                order,
            )
        client.destroy()

    async def work(self, worker: str) -> None:
        await asyncio.to_thread(self._launch, f"worker-{worker}")
        await until_signal()
        DBOS.destroy()

    async def count_ended(self, batch: str) -> int:
        with psycopg.connect(self.address) as database:
            row = database.execute(
                "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS' AND workflow_uuid LIKE %s",
                [f"{batch}-%"],
            ).fetchone()
        return int(row[0]) if row else 0

    async def times(self, batch: str, count: int) -> list[Times]:
        with psycopg.connect(self.address) as database:
            rows = database.execute(
                """
                SELECT created_at / 1000.0, started_at_epoch_ms / 1000.0, updated_at / 1000.0
                  FROM dbos.workflow_status AS workflow WHERE status = 'SUCCESS' AND workflow_uuid LIKE %s
                   AND %s = (SELECT count(*) FROM dbos.operation_outputs AS step
                              WHERE step.workflow_uuid = workflow.workflow_uuid)
                """,
                [f"{batch}-%", len(STEPS)],
            ).fetchall()
        return [Times(*map(float, row)) for row in rows]

    def _launch(self, executor: str) -> None:
        """Starts DBOS, in a thread without an event loop, since the workflow is not a coroutine."""
        DBOS(
            config={
                "name": "bench",
                "system_database_url": self.address,
                "log_level": "ERROR",
                "application_version": "1",
                "executor_id": executor,
            }
        )
        DBOS.launch()
        DBOS.register_queue(QUEUE, worker_concurrency=AT_ONCE, polling_interval_sec=POLL)


if __name__ == "__main__":
    main(Dbos)
