"""Milliseconds from stored to Processed at 10, 50 and 90 % of the throughput, by the database's own times.

    .venv/bin/python -m bench load [--orders N] [--seconds S]

Each order has four sequential steps that answer at once; one scheduler and one agent host do them. First `--orders` are
stored as fast as possible while they are processed already, which takes what the two cores can do: the throughput with
new orders coming in. Then orders are stored evenly at a share of that, each time for `--seconds`.
"""

import argparse
from typing import Any

from bench import feeder, noop, server, tables
from bench.throughput import last_finished, warm_up
from orders.engine.channels.wakeups import Topic, wake

SHARES = (0.1, 0.5, 0.9)
TICK = 0.02
"""Seconds between two groups of new orders; short, since those of a group wait for one another."""
GROUP = 20
"""Orders that are stored together while the throughput is measured: what arrives within a tick or two."""


def measure_throughput(count: int) -> float:
    """Orders a second, stored and processed at the same time."""
    before = server.processed()
    began = server.database_time()
    for start in range(0, count, GROUP):
        noop.fill(min(GROUP, count - start))
        wake(Topic.SCHEDULER)
    server.wait_until_processed(before + count)
    return count / (last_finished() - began)


def measure(count: int, seconds: float) -> list[list[Any]]:
    """The rows of the table."""
    server.empty()
    rows: list[list[Any]] = []
    with server.processes(["bench.noop", "agents"], ["bench.noop", "scheduler"]):
        server.wait_for_agents("noop")
        measure_throughput(warm_up(count))
        reached = measure_throughput(count)
        for share in SHARES:
            fed = feeder.feed(share * reached, seconds, tick=TICK)
            percentiles = [server.percentile(fed.milliseconds, per_cent) for per_cent in (50, 99)]
            rows.append([f"{share:.0%}", fed.orders, f"{fed.rate:,.0f}", *percentiles])
    return [*rows, ["all that it can", count, f"{reached:,.0f}", "", ""]]


def main() -> None:
    """Measures each share and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench load", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--orders", type=int, default=10_000, help="for the throughput; %(default)s by default"
    )
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="at each share of it; %(default)s by default"
    )
    options = parser.parse_args()
    rows = measure(options.orders, options.seconds)
    tables.print_table(["of the throughput", "orders", "orders/s", "p50 ms", "p99 ms"], rows)


if __name__ == "__main__":
    main()
