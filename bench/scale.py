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
from typing import Any

import psycopg
from django.db import connection, transaction

from bench import noop, server, tables
from bench.scale_store import Store
from orders.engine import state_store
from orders.engine.channels import leases, replies, submissions, unheld
from orders.engine.runtime.sql import database_now, run
from orders.engine.runtime.statements import prepare_statements
from tests.support.plans import Explained
from tests.support.system import database_url

BATCH = 200
TABLES = ("orderprocess", "stepstate", "agentrequest", "agentreply", "submissionmessage")
SIZES = (10_000, 100_000, 1_000_000)


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
