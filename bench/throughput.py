"""Orders a second: the shipped engine against a bare loop with the same claims and writes, DBOS, and stock django-q2.

    .venv/bin/python -m bench throughput [--orders N] [--few N] [--only NAME]… [--profile FILE]

Each order has four sequential steps that answer at once. All orders are submitted in advance, and two cores do
everything. The engine is one scheduler and one agent host; the loop is one process, and then two; DBOS has two workers,
and so has django-q2's cluster. DBOS is installed into a separate environment in the temporary folder. Each contender
has a warm-up first.
"""

import argparse
import contextlib
import os
import pstats
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from bench import machine, server, tables
from bench.environments import python_with
from orders.engine.runtime.sql import fetch
from sasweb.launcher import children
from tests.support.system import Process, database_url

HERE = Path(__file__).parent
DBOS = "dbos==3.4.0"
STEPS = 4
SHOWN = 25
"""Lines of the profile that are printed."""


def engine(count: int, profile: str | None = None) -> float:
    """Measures the shipped scheduler and agent host."""
    server.empty()
    scheduler = ["bench.noop", "scheduler", *(["--profile", profile] if profile else [])]
    with server.processes(["bench.noop", "agents"], scheduler) as (host, role):
        server.wait_for_agents("noop")
        warm = warm_up(count)
        server.fill_at_once(warm)
        server.wait_until_processed(warm)
        began = server.fill_at_once(count)
        spent = {name: -seconds for name, seconds in processor_times(host, role).items()}
        server.wait_until_processed(warm + count)
        for name, seconds in processor_times(host, role).items():
            milliseconds = 1000 * (spent[name] + seconds) / count
            print(f"sasweb: {milliseconds:.2f} ms of processor time an order in {name}", file=sys.stderr)
    check_counts(warm + count)
    return count / (last_finished() - began)


def loop(count: int, processes: int = 1) -> float:
    """Measures bare loops, from the first claim to the last order."""
    server.empty()
    for number in (warm_up(count), count):
        server.empty()
        server.fill_at_once(number)
        with server.processes(*[["bench.loop", database_url()]] * processes):
            server.wait_until_processed(number)
    check_counts(count)
    began = fetch("SELECT extract(epoch FROM min(started_at)) FROM orders_orderprocess")[0][0]
    return count / (last_finished() - float(began))


def two_loops(count: int) -> float:
    """Measures two bare loops side by side."""
    return loop(count, processes=2)


def dbos(count: int) -> float:
    """Measures DBOS, from the start of the first workflow to the end of the last, by its own times."""
    with own_database("bench_dbos") as url:
        app = [python_with(DBOS, DBOS, "psycopg[binary]"), str(HERE / "dbos_app.py")]
        subprocess.run([*app, "prepare", url], check=True)
        for number in (warm_up(count), count):
            with psycopg.connect(url, autocommit=True) as there:
                there.execute("TRUNCATE dbos.workflow_status, dbos.operation_outputs CASCADE")
                subprocess.run([*app, "fill", url, str(number)], check=True)
                workers = [subprocess.Popen([*app, "work", url, str(worker)]) for worker in (1, 2)]
                try:
                    server.wait_for(partial(_count_dbos, there), number)
                finally:
                    for worker in workers:
                        worker.terminate()
                        worker.wait(60)
                steps = there.execute("SELECT count(*) FROM dbos.operation_outputs").fetchone()
                assert steps == (STEPS * number,), f"{steps} steps for {number} workflows"
                row = there.execute(
                    "SELECT max(updated_at) - min(started_at_epoch_ms) FROM dbos.workflow_status"
                ).fetchone()
        assert row is not None
    return count / (float(row[0]) / 1000)


def _count_dbos(there: psycopg.Connection[Any]) -> int:
    """The number of workflows that have succeeded."""
    row = there.execute("SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'").fetchone()
    return int(row[0]) if row else 0


def django_q(count: int) -> float:
    """Measures stock django-q2, from its first task to its last."""
    for number in (warm_up(count), count):
        server.empty()
        fetch(
            "WITH gone AS (DELETE FROM django_q_ormq WHERE key = 'bench' RETURNING 1) SELECT count(*) FROM gone"
        )
        environment = {**os.environ, "DATABASE_URL": database_url()}
        fill = [sys.executable, "-m", "bench.stock_q", "fill", str(number)]
        subprocess.run(fill, env=environment, check=True)
        with server.processes(["bench.stock_q", "work"]):
            server.wait_for(_count_django_q, number)
    began, ended = fetch(
        "SELECT extract(epoch FROM min(began)), extract(epoch FROM max(ended)) FROM bench_order"
    )[0]
    return count / float(ended - began)


def _count_django_q() -> int:
    """The number of orders whose last task has run."""
    return int(fetch(f"SELECT count(*) FROM bench_order WHERE step = {STEPS}")[0][0])


CONTENDERS: dict[str, Callable[[int], float]] = {
    "loop": loop,
    "two loops": two_loops,
    "sasweb": engine,
    "dbos": dbos,
    "django-q2": django_q,
}


def processor_times(host: Process, scheduler: Process) -> dict[str, float]:
    """Processor seconds that each part has used so far."""
    session = children.read_stat(fetch("SELECT pg_backend_pid()")[0][0])
    assert session is not None
    postmaster = session.parent
    servers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    stats = [stat for pid in servers if (stat := children.read_stat(pid)) and stat.parent == postmaster]
    return {
        "the scheduler": machine.processor_seconds(scheduler.pid),
        "the agent host": machine.processor_seconds(host.pid),
        "PostgreSQL": machine.processor_seconds(postmaster, with_ended_children=True)
        + sum(machine.processor_seconds(stat.pid) for stat in stats),
    }


def warm_up(count: int) -> int:
    """The number of orders in the warm-up."""
    return max(1, min(1_000, count // 10))


def last_finished() -> float:
    """The database's time at which the last order was finished."""
    return float(fetch("SELECT extract(epoch FROM max(finished_at)) FROM orders_orderprocess")[0][0])


def check_counts(count: int) -> None:
    """Checks that every order is Processed, every step was done once, and no message is left."""
    totals = fetch(
        """
        SELECT (SELECT count(*) FROM orders_orderprocess WHERE process_state = 'processed'),
               (SELECT count(*) FROM orders_stepstate WHERE state = 'completed' AND attempt = 1),
               (SELECT count(*) FROM orders_agentrequest), (SELECT count(*) FROM orders_agentreply)
        """
    )
    assert totals == [(count, STEPS * count, 0, 0)], f"of {count} orders: {totals}"


@contextlib.contextmanager
def own_database(name: str) -> Iterator[str]:
    """Creates a temporary database on the same server. Yields its url."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        yield database_url().replace(f"/{connection.settings_dict['NAME']}?", f"/{name}?")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def show_profile(count: int, file: str) -> None:
    """Runs the engine under cProfile and prints where the scheduler's time went."""
    print(f"sasweb, its scheduler under cProfile: {engine(count, file):,.0f} orders/s")
    stats = pstats.Stats(file, stream=sys.stdout)
    stats.sort_stats("tottime").print_stats(SHOWN)
    stats.sort_stats("cumulative").print_stats("orders/engine", SHOWN)


def main() -> None:
    """Runs the contenders and prints a table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench throughput", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--orders", type=int, default=20_000, help="for the engine and the loops")
    parser.add_argument("--few", type=int, help="for DBOS and django-q2; by default a tenth of the orders")
    parser.add_argument(
        "--only", action="append", choices=CONTENDERS, metavar="NAME", help=", ".join(CONTENDERS)
    )
    parser.add_argument("--profile", metavar="FILE", help="profile the engine's scheduler, and nothing else")
    options = parser.parse_args()
    if options.profile:
        show_profile(options.orders, options.profile)
        return
    few = options.few or max(1, options.orders // 10)
    counts = {
        name: few if name in ("dbos", "django-q2") else options.orders for name in options.only or CONTENDERS
    }
    rates = {}
    for name, count in counts.items():
        rates[name] = CONTENDERS[name](count)
        print(f"{name}: {rates[name]:,.0f} orders/s", file=sys.stderr, flush=True)
    rows = [
        (
            name,
            counts[name],
            f"{rate:,.0f}",
            rate / rates["loop"] if "loop" in rates else "",
            rates["sasweb"] / rate if "sasweb" in rates else "",
        )
        for name, rate in rates.items()
    ]
    tables.print_table(("", "orders", "orders/s", "of the loop", "sasweb is … times as fast"), rows)


if __name__ == "__main__":
    main()
