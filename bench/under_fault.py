"""Orders a second, and the time of a new order, while something is wrong, compared with a run without a fault.

    .venv/bin/python -m bench under_fault [--orders N] [--waiting N] [--rate R] [--seconds S]
        [--transitions N] [--only FAULT]…

F26: a session holds a snapshot, so that dead rows cannot be removed, during a million transitions beforehand and
during the measurement. F29: the remote service of another workflow is down, and ten thousand orders wait for it; "F29
back" begins when it comes back. F30: ten thousand steps of other orders expire within one second, and are tried again.
The agents of the new orders answer at once.

First new orders arrive at a steady rate; then `--orders` arrive at once.
"""

import argparse
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import psycopg
from django.db import transaction

from bench import feeder, noop, server, tables
from orders.engine.runtime.sql import fetch, run
from orders.models import StepState
from tests.support.system import Process, database_url
from tests.support.wait import until

CHUNK = 5_000
TRANSITIONS_OF_ONE = 10
"""The four steps and the order itself each begin and end."""
WARM_UP = 200


class Speed(NamedTuple):
    """Orders a second in the burst; milliseconds of an order at the steady rate."""

    rate: float
    median: float
    p99: float


class Options(NamedTuple):
    """The command line's options."""

    orders: int
    waiting: int
    rate: float
    seconds: float
    transitions: int


def burst(options: Options) -> float:
    """Stores many orders at once. Returns the orders a second."""
    before = server.processed()
    began = server.fill_at_once(options.orders)
    server.wait_until_processed(before + options.orders)
    (ended,) = fetch(
        "SELECT extract(epoch FROM max(finished_at)) FROM orders_orderprocess WHERE workflow = %s",
        [noop.FOUR.name],
    )[0]
    return options.orders / (float(ended) - began)


def measure(options: Options) -> Speed:
    """Measures the burst and the steady rate."""
    times = feeder.feed(options.rate, options.seconds).milliseconds
    return Speed(burst(options), server.percentile(times, 50), server.percentile(times, 99))


@contextmanager
def a_snapshot_held(options: Options, _: Process) -> Iterator[None]:
    """F26: another session holds a snapshot."""
    with psycopg.connect(database_url()) as holder:
        holder.execute("SET transaction_timeout = 0")
        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT count(*) FROM orders_agentreply")
        done = server.processed()
        for _start in range(0, options.transitions, CHUNK * TRANSITIONS_OF_ONE):
            server.fill_at_once(min(CHUNK, options.transitions // TRANSITIONS_OF_ONE))
            done += min(CHUNK, options.transitions // TRANSITIONS_OF_ONE)
            server.wait_until_processed(done)
        yield
        holder.rollback()


@contextmanager
def a_remote_down(options: Options, _: Process) -> Iterator[None]:
    """F29: a remote service is down, and orders wait for it. They are not part of the measurement."""
    server.fill_at_once(options.waiting, noop.DOWN)
    waiting = StepState.objects.filter(process__workflow=noop.DOWN.name).exclude(waiting_since=None)
    server.wait_for(waiting.count, options.waiting)
    yield
    ended = server.processed(noop.DOWN)
    assert ended == 0, f"{ended} orders were processed by a remote that is down"


@contextmanager
def a_remote_back(options: Options, host: Process) -> Iterator[None]:
    """F29: a remote service comes back, and orders that have waited for it go on."""
    with a_remote_down(options, host):
        pass
    os.kill(host.pid, signal.SIGUSR1)
    until(lambda: server.processed(noop.DOWN) > 0, seconds=60, what="the remote's first answer")
    yield
    server.wait_until_processed(options.waiting, workflow=noop.DOWN)


@transaction.atomic  # otherwise a scheduler would claim some of the orders in between
def fill_expiring(count: int) -> None:
    """Stores orders that each have their first step under way, and no request for it."""
    noop.fill(count, noop.EXPIRING)
    run(
        """
        UPDATE orders_stepstate SET state = 'running', attempt = 1, outcome = 'unknown', started_at = clock_timestamp(),
               complete_by = clock_timestamp() + random() * interval '1 second', settles_at = clock_timestamp()
         WHERE position = 0 AND order_id IN (SELECT order_id FROM orders_orderprocess WHERE workflow = %s)
        """,
        [noop.EXPIRING.name],
    )
    run(
        """
        UPDATE orders_orderprocess SET process_state = 'processing', locked_by = 'scheduler:lost', not_before = NULL,
               started_at = clock_timestamp(), complete_by = clock_timestamp() + interval '10 minutes'
         WHERE workflow = %s
        """,
        [noop.EXPIRING.name],
    )


@contextmanager
def steps_expiring(options: Options, _: Process) -> Iterator[None]:
    """F30: each order has its first step under way, its request is lost, and it expires within the next second."""
    fill_expiring(options.waiting)
    yield
    server.wait_until_processed(options.waiting, workflow=noop.EXPIRING)
    again = StepState.objects.filter(process__workflow=noop.EXPIRING.name, position=0, attempt__gte=2).count()
    assert again == options.waiting, f"{again} of {options.waiting} steps were tried again"


Fault = Callable[[Options, Process], AbstractContextManager[None]]
FAULTS: dict[str, Fault] = {
    "F26": a_snapshot_held,
    "F29": a_remote_down,
    "F29 back": a_remote_back,
    "F30": steps_expiring,
}


def under(fault: Fault | None, options: Options) -> Speed:
    """Measures during a fault, on fresh tables with fresh processes."""
    server.empty()
    roles = (
        ["bench.noop", "agents", "noop", "down"],
        ["bench.noop", "scheduler"],
        ["bench.noop", "supervisor"],
    )
    with server.processes(*roles) as (host, *_others):
        server.wait_for_agents("noop", "down")
        server.fill_at_once(WARM_UP)
        server.wait_until_processed(WARM_UP)
        with fault(options, host) if fault else nullcontext():
            return measure(options)


def main() -> None:
    """Measures without and with each fault, and prints a table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench under_fault", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--orders", type=int, default=10_000, help="stored at once")
    parser.add_argument("--waiting", type=int, default=10_000, help="that wait, or expire")
    parser.add_argument("--rate", type=float, default=200.0, help="new orders a second")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--transitions", type=int, default=1_000_000, help="under the snapshot")
    parser.add_argument("--only", action="append", choices=FAULTS)
    args = parser.parse_args()
    options = Options(args.orders, args.waiting, args.rate, args.seconds, args.transitions)
    healthy = under(None, options)
    rows: list[list[Any]] = [["none", f"{healthy.rate:,.0f}", "", healthy.median, healthy.p99, ""]]
    for name in args.only or FAULTS:
        speed = under(FAULTS[name], options)
        rows.append(
            [
                name,
                f"{speed.rate:,.0f}",
                speed.rate / healthy.rate,
                speed.median,
                speed.p99,
                speed.p99 / healthy.p99,
            ]
        )
    tables.print_table(["fault", "orders/s", "of none", "p50 ms", "p99 ms", "p99, times none"], rows)


if __name__ == "__main__":
    main()
