"""The cost of each claim and sweep with 10 thousand, 100 thousand and 1 million stored orders.

    .venv/bin/python -m bench scale [--orders N]… [--runs N] [--churn N]

At every size the same few orders are ready, waiting, under way or overdue; all others are finished. Each cost is
measured after a vacuum ("clean"), after thousands of transitions without a vacuum ("unvacuumed"), and after as many
more while another session holds a snapshot, so that dead rows cannot be removed ("pinned"). At every size as many
different orders go through these transitions, the newest of those that have finished.

Milliseconds are the median over calls of the engine's own functions, prepared and planned as in the roles and rolled
back each time. Pages are those that their statements touched according to EXPLAIN (ANALYZE, BUFFERS). Queues and lists
are read from their beginnings, which the roles do only now and then. No lease has lapsed and no request has expired,
as on most days: those two sweeps read the requests that are there.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg
from django.db import connection, transaction

from bench import noop, server, tables
from orders.engine import state_store
from orders.engine.channels import leases, replies, submissions, unheld
from orders.engine.runtime.sql import database_now, fetch, run
from orders.engine.runtime.statements import prepare_statements
from tests.support.plans import Explained
from tests.support.system import database_url

ACTIVE = 1_000
"""Orders in each of the states that claims and sweeps look for."""
CHUNK = 1_000
"""Orders moved by one statement."""
BATCH = 200
TABLES = ("orderprocess", "stepstate", "agentrequest", "agentreply", "submissionmessage")
SIZES = (10_000, 100_000, 1_000_000)

NEW_ORDERS = """
    INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns,
                                     priority, reply_to, announced, created_at, not_before, complete_by, locked_by,
                                     started_at, finished_at)
    SELECT (%(era)s::text || lpad(to_hex(n / 65536), 4, '0') || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
           'four-steps', 1, 'complete', %(state)s::text, 0, 0, 5, '', true, clock_timestamp(),
           clock_timestamp() + %(not_before)s::float8 * interval '1 second',
           CASE WHEN %(state)s::text = 'processing'
                THEN clock_timestamp() + %(complete_by)s::float8 * interval '1 second' END,
           CASE WHEN %(state)s::text = 'processing' THEN 'scheduler:bench' END,
           CASE WHEN %(state)s::text <> 'pending' THEN clock_timestamp() END,
           CASE WHEN %(state)s::text = 'processed' THEN clock_timestamp() END
      FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
 RETURNING order_id
"""
NEW_STEPS = """
    INSERT INTO orders_stepstate (order_id, name, position, agent, request, state, attempt, answered, generation,
                                  compensation_generation, outcome, failure_count, compensation_failure_count,
                                  extended_waits, priority, result, complete_by, waiting_since)
    SELECT o.order_id, s.name, s.position, 'noop', '{"n": 1}', v.state, v.attempt, v.answered, 1, 1, v.outcome,
           0, 0, 0, 5, CASE WHEN v.state = 'completed' THEN '{"ok": true}'::jsonb END,
           CASE WHEN v.state = 'running' THEN clock_timestamp() + %(complete_by)s::float8 * interval '1 second' END,
           CASE WHEN v.waits THEN clock_timestamp() END
      FROM created AS o
     CROSS JOIN (VALUES ('first', 0), ('second', 1), ('third', 2), ('fourth', 3)) AS s(name, position)
     CROSS JOIN LATERAL (
           SELECT CASE WHEN %(state)s::text = 'processed' THEN 'completed'
                       WHEN %(state)s::text = 'processing' AND s.position = 0 THEN 'running'
                       ELSE 'not_started' END AS state,
                  CASE WHEN %(state)s::text = 'processed' OR (%(state)s::text = 'processing' AND s.position = 0)
                       THEN 1 ELSE 0 END AS attempt,
                  CASE WHEN %(state)s::text = 'processed' THEN 1 ELSE 0 END AS answered,
                  CASE WHEN %(state)s::text = 'processed' THEN 'done'
                       WHEN %(state)s::text = 'processing' AND s.position = 0 THEN 'unknown' ELSE 'none' END AS outcome,
                  %(waits)s::boolean AND s.position = 0 AS waits) AS v
"""
ASKED = """
    INSERT INTO orders_agentrequest (order_id, step_id, step, agent, operation, attempt, compensates, key, reverses,
                                     body, complete_by, priority, deliveries)
    SELECT order_id, id, name, agent, name, 1, false, order_id || '/' || name || '/1', '',
           '{"data": {}, "results": {}}', clock_timestamp() + interval '1 hour', 5, 0
      FROM orders_stepstate WHERE state = 'running' AND order_id = ANY(%s::uuid[])
"""
ANSWERED = """
    INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
    SELECT order_id, id, 1, false, 'done', '{}', 1, 'bench' FROM orders_stepstate
     WHERE state = 'running' AND order_id = ANY(%s::uuid[])
"""
POSTED = """
    INSERT INTO orders_submissionmessage (order_id, client, body) SELECT unnest(%s::uuid[]), 'guest', '{"lines": []}'
"""
QUEUES = {"submissionmessage": POSTED, "agentrequest": ASKED, "agentreply": ANSWERED}
Posted: TypeAlias = dict[str, list[int]]
"""The ids of messages, by the queue that they are in."""


class Store:
    """Fills the tables. Finished orders are older than the others, as in real life."""

    def __init__(self) -> None:
        self.finished = self._number = 0
        self._moved_count = 0
        self._under_way: list[Any] = []
        self._posted: Posted = {}

    def add(
        self,
        count: int,
        state: str,
        *,
        not_before: float | None = None,
        complete_by: float = 3_600,
        waits: bool = False,
    ) -> list[Any]:
        """Stores orders in a state, with their steps. Times are in seconds from now."""
        first, self._number = self._number, self._number + count
        parameters = {
            "era": "01990000-" if state == "processed" else "01990001-",
            "state": state,
            "not_before": not_before,
            "complete_by": complete_by,
            "waits": waits,
            "first": first,
            "last": first + count - 1,
        }
        return [
            row[0]
            for row in fetch(
                f"WITH created AS ({NEW_ORDERS}), steps AS ({NEW_STEPS}) SELECT order_id FROM created",
                parameters,
            )
        ]

    def grow(self, size: int) -> None:
        """Adds finished orders until `size` are stored."""
        while self.finished < size - 6 * ACTIVE:
            count = min(50_000, size - 6 * ACTIVE - self.finished)
            self.add(count, "processed")
            self.finished += count
        self._moved_count = self._moved_count or self.finished

    def add_active(self) -> None:
        """Adds the orders that claims and sweeps find, and the messages in the channels."""
        self.add(ACTIVE, "pending")
        self.add(ACTIVE, "pending", not_before=-1)
        self.add(ACTIVE, "pending", not_before=3_600)
        self.add(ACTIVE, "pending", not_before=3_600, waits=True)
        self.add(ACTIVE, "processing", complete_by=-1)
        self._under_way = self.add(ACTIVE, "processing")
        self._posted = _post(self._under_way)

    def churn(self, count: int) -> None:
        """Moves `count` finished orders through every state and queue once more, until they are finished again.

        They are the newest, and as many different ones as the smallest size has: more would leave their dead rows on
        more pages, so that the larger sizes would have more to read.
        """
        finished = fetch(
            "SELECT order_id FROM orders_orderprocess WHERE process_state = 'processed'"
            " ORDER BY order_id DESC LIMIT %s",
            [min(count, self._moved_count)],
        )
        for at in range(0, count, CHUNK):
            orders = [finished[n % len(finished)][0] for n in range(at, at + CHUNK)]
            _move(orders, "pending", "not_started")
            _move(orders, "processing", "running")
            posted = _post(orders)
            _move(orders, "processed", "completed")
            _take(posted)
        _take(self._posted)  # and posted again: a queue's dead rows are older than its live ones
        self._posted = _post(self._under_way)


def _post(orders: list[Any]) -> Posted:
    return {
        queue: [key for (key,) in fetch(f"{fill} RETURNING id", [orders])] for queue, fill in QUEUES.items()
    }


def _take(posted: Posted) -> None:
    for queue, ids in posted.items():
        run(f"DELETE FROM orders_{queue} WHERE id = ANY(%s::bigint[])", [ids])


def _move(orders: list[Any], state: str, step_state: str) -> None:
    """Moves orders and their first steps into a state in which they are overdue."""
    parameters = {"state": state, "step": step_state, "orders": orders}
    run(
        """
        UPDATE orders_stepstate SET state = %(step)s::text, attempt = 1, answered = (%(step)s::text = 'completed')::int,
               outcome = CASE %(step)s::text WHEN 'completed' THEN 'done' WHEN 'running' THEN 'unknown' ELSE 'none' END,
               complete_by = CASE WHEN %(step)s::text = 'running' THEN clock_timestamp() - interval '1 hour' END
         WHERE order_id = ANY(%(orders)s::uuid[]) AND position = 0
        """,
        parameters,
    )
    run(
        """
        UPDATE orders_orderprocess SET process_state = %(state)s::text,
               locked_by = CASE WHEN %(state)s::text = 'processing' THEN 'bench' END,
               complete_by = clock_timestamp() - interval '1 hour',
               not_before = CASE WHEN %(state)s::text = 'processing' THEN clock_timestamp() - interval '1 hour' END,
               finished_at = CASE WHEN %(state)s::text = 'processed' THEN clock_timestamp() END
         WHERE order_id = ANY(%(orders)s::uuid[])
        """,
        parameters,
    )


def costs() -> Mapping[str, Callable[[], object]]:
    """The measured calls: the engine's own functions, with the limits that the roles use."""
    workflows = noop.WORKFLOWS
    return {
        "scheduler: claim": lambda: state_store.claim(BATCH, workflows, database_now()),
        "scheduler: claim what waits for an agent": lambda: state_store.claim_waiting(
            {"noop": BATCH}, workflows, [], limit=BATCH, retries=BATCH
        ),
        "scheduler: replies": lambda: replies.peek(BATCH),
        "scheduler: to be announced": lambda: state_store.unannounced(BATCH, workflows),
        "supervisor: overdue": lambda: state_store.overdue(500, database_now()),
        "submission: claim": lambda: submissions.take(BATCH),
        "agents: lapsed leases": unheld.free_lapsed,
        "agents: expired requests": unheld.delete_expired,
        # Last, because what it has written is dead when it is rolled back, and would be read by the others.
        "agents: claim requests": lambda: leases.claim(room={"noop": BATCH}, me="bench", seconds=8),
    }


class Pages:
    """Wraps statements: runs each under EXPLAIN first, and adds up the pages that it touched."""

    def __init__(self) -> None:
        self.touched = 0
        self._is_explaining = False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not self._is_explaining and sql.split(None, 1)[0] in ("SELECT", "WITH", "UPDATE", "DELETE"):
            self._is_explaining = True
            plan = Explained.of(sql, params, context).explain("ANALYZE, BUFFERS, ")["Plan"]
            self._is_explaining = False
            self.touched += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        return execute(sql, params, many, context)


class Rollback(Exception):
    """Raised to roll back."""


@contextmanager
def rolled_back() -> Any:
    """A transaction that is rolled back at the end."""
    try:
        with transaction.atomic():
            yield
            raise Rollback
    except Rollback:
        pass


def measure(operation: Callable[[], object], runs: int) -> tuple[float, int]:
    """Measures the median milliseconds and the pages touched."""
    times = []
    for _ in range(runs):
        with rolled_back():
            began = time.perf_counter()
            operation()
            times.append((time.perf_counter() - began) * 1000)
    pages = Pages()
    with rolled_back(), connection.execute_wrapper(pages):
        operation()
    return statistics.median(times), pages.touched


def vacuum() -> None:
    """Removes dead rows and renews the statistics.

    By itself VACUUM leaves the indexes of a large table alone while less than 2% of its pages have dead rows.
    """
    for table in TABLES:
        run(f"VACUUM (ANALYZE, INDEX_CLEANUP ON) orders_{table}")


def measure_size(store: Store, runs: int, churn: int) -> dict[tuple[str, str], tuple[float, int]]:
    """Measures all costs at the current size: clean, unvacuumed and pinned."""
    measured: dict[tuple[str, str], tuple[float, int]] = {}

    def take(state: str) -> None:
        run("CHECKPOINT")  # what is to be written to disk is not written meanwhile
        for name, operation in costs().items():
            measured[name, state] = measure(operation, runs)

    vacuum()
    take("clean")
    store.churn(churn)
    take("unvacuumed")
    with psycopg.connect(database_url()) as holder:
        holder.execute("SET transaction_timeout = 0")
        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT count(*) FROM orders_agentreply")
        store.churn(churn)
        take("pinned")
        holder.rollback()
    return measured


def print_costs(
    sizes: list[int], measured: Mapping[int, Mapping[tuple[str, str], tuple[float, int]]]
) -> None:
    """Prints a table of times and pages, with the ratios of the largest size to the smallest."""
    rows = []
    for name, state in measured[sizes[0]]:
        cells = [measured[size][name, state] for size in sizes]
        shown = [f"{milliseconds:.2f} ({pages})" for milliseconds, pages in cells]
        rows.append([name, state, *shown, cells[-1][0] / cells[0][0], cells[-1][1] / max(1, cells[0][1])])
    columns = [
        "ms (pages)",
        "tables",
        *(f"{size:,}" for size in sizes),
        "ms, last/first",
        "pages, last/first",
    ]
    tables.print_table(columns, rows)


def main() -> None:
    """Grows the store from size to size and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench scale", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--orders", type=int, action="append", help="stored orders; 10, 100 and 1000 thousand by default"
    )
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--churn", type=int, default=20_000, help="orders that leave dead rows behind")
    options = parser.parse_args()
    sizes = options.orders or list(SIZES)
    prepare_statements()
    server.empty()
    for table in TABLES:
        run(f"ALTER TABLE orders_{table} SET (autovacuum_enabled = false)")
    store = Store()
    store.add_active()
    measured = {}
    for size in sizes:
        vacuum()  # what is added fills the pages that the size before has left half empty
        store.grow(size)
        measured[size] = measure_size(store, options.runs, options.churn)
    print_costs(sizes, measured)
    for table in TABLES:
        run(f"ALTER TABLE orders_{table} RESET (autovacuum_enabled)")


if __name__ == "__main__":
    main()
