"""procrastinate: four jobs in a row for each order, on PostgreSQL. Run in an environment with `procrastinate`.

It has no workflows, so each job defers the next one, as its documentation says. The job's end and the next job are not
one transaction.
"""

import psycopg
from procrastinate import App as Queue
from procrastinate import PsycopgConnector

from bench.contenders.app import STEPS, App, Times, main, order_names

AT_ONCE = 10
"""Jobs that one process runs at the same time; each needs a connection now and then."""
BATCH = 500
queue = Queue(connector=PsycopgConnector())


@queue.task(name="hop")
async def hop(order: str, step: int) -> None:
    """Performs one step of one order, and defers the next."""
    if step < len(STEPS):
        await hop.defer_async(order=order, step=step + 1)


class Procrastinate(App):
    """Its address is a database's url."""

    async def prepare(self) -> None:
        async with self._open() as opened:
            await opened.schema_manager.apply_schema_async()

    async def fill(self, batch: str, count: int) -> None:
        jobs = [{"order": order, "step": 1} for order in order_names(batch, count)]
        async with self._open():
            for start in range(0, count, BATCH):
                await hop.batch_defer_async(*jobs[start : start + BATCH])

    async def work(self, worker: str) -> None:
        async with self._open() as opened:
            await opened.run_worker_async(name=worker, concurrency=AT_ONCE)  # until SIGTERM

    async def count_ended(self, batch: str) -> int:
        with psycopg.connect(self.address) as database:
            row = database.execute(
                "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"
                " AND args->'step' = to_jsonb(%s::int) AND args->>'order' LIKE %s",
                [len(STEPS), f"{batch}-%"],
            ).fetchone()
        return int(row[0]) if row else 0

    async def times(self, batch: str, count: int) -> list[Times]:
        with psycopg.connect(self.address) as database:
            rows = database.execute(
                """
                SELECT extract(epoch FROM min(at)), extract(epoch FROM min(at) FILTER (WHERE type = 'started')),
                       extract(epoch FROM max(at))
                  FROM procrastinate_events AS event JOIN procrastinate_jobs AS job ON job.id = event.job_id
                 WHERE args->>'order' LIKE %s GROUP BY args->>'order'
                HAVING count(*) FILTER (WHERE type = 'succeeded') = %s
                """,
                [f"{batch}-%", len(STEPS)],
            ).fetchall()
        return [Times(*map(float, row)) for row in rows]

    def _open(self) -> Queue:
        """The queue with connections to the database; to be entered."""
        queue.connector = queue.job_manager.connector = PsycopgConnector(conninfo=self.address)
        return queue.open_async()


if __name__ == "__main__":
    main(Procrastinate)
