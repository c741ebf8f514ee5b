"""Orders a second: the shipped engine against a bare loop with the same claims and writes, and against its contenders.

    .venv/bin/python -m bench throughput [--orders N] [--few N] [--only NAME]… [--profile FILE]

Each order has four sequential steps that answer at once. All orders are submitted in advance, and two cores do
everything. The engine is one scheduler and one agent host, and then two schedulers; the loop is one process, and then
two; each contender (bench/contenders) has two workers, and is installed into its own environment in the temporary
folder. One that cannot be installed or run is left out. Everybody has a warm-up first.
"""

import argparse
import pstats
import sys
from collections.abc import Callable, Sequence

from bench import machine, server, tables
from bench.contenders import contest
from bench.contenders.environments import Unavailable
from orders.engine.runtime.sql import fetch
from tests.support.system import Process, database_url

STEPS = 4
SHOWN = 25
"""Lines of the profile that are printed."""


def engine(count: int, profile: str | None = None, *, schedulers: int = 1) -> float:
    """Measures the shipped scheduler and agent host."""
    server.empty()
    scheduler = ["bench.noop", "scheduler", *(["--profile", profile] if profile else [])]
    with server.processes(["bench.noop", "agents"], *[scheduler] * schedulers) as (host, *roles):
        server.wait_for_agents("noop")
        warm = warm_up(count)
        server.fill_at_once(warm)
        server.wait_until_processed(warm)
        began = server.fill_at_once(count)
        spent = {name: -seconds for name, seconds in processor_times(host, roles).items()}
        server.wait_until_processed(warm + count)
        for name, seconds in processor_times(host, roles).items():
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


def two_schedulers(count: int) -> float:
    """Measures an agent host with two schedulers, as `bin/up --scale scheduler=2` starts them."""
    return engine(count, schedulers=2)


def two_loops(count: int) -> float:
    """Measures two bare loops side by side."""
    return loop(count, processes=2)


OURS: dict[str, Callable[[int], float]] = {
    "loop": loop,
    "two loops": two_loops,
    "sasweb": engine,
    "two schedulers": two_schedulers,
}
NAMES = (*OURS, *contest.CONTENDERS)


def processor_times(host: Process, schedulers: Sequence[Process]) -> dict[str, float]:
    """Processor seconds that each part has used so far."""
    return {
        "scheduling": sum(machine.processor_seconds(scheduler.pid) for scheduler in schedulers),
        "the agent host": machine.processor_seconds(host.pid),
        "PostgreSQL": server.processor_seconds(),
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
    parser.add_argument(
        "--orders", type=int, default=20_000, help="for the engine and the loops; %(default)s by default"
    )
    parser.add_argument("--few", type=int, help="for each contender; a share of --orders by default")
    parser.add_argument(
        "--only",
        action="append",
        choices=NAMES,
        metavar="NAME",
        help=f"a row, may be repeated; all by default: {', '.join(NAMES)}",
    )
    parser.add_argument("--profile", metavar="FILE", help="profile the engine's scheduler, and nothing else")
    options = parser.parse_args()
    if options.profile:
        show_profile(options.orders, options.profile)
        return
    counts = {name: number_of_orders(name, options) for name in options.only or NAMES}
    rates = {}
    for name, count in counts.items():
        try:
            rates[name] = measure(name, count)
        except Unavailable as reason:
            contest.leave_out(name, reason)
            continue
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


def number_of_orders(name: str, options: argparse.Namespace) -> int:
    """The number of orders for one of the names."""
    if name in OURS:
        return int(options.orders)
    return options.few or max(1, int(options.orders * contest.CONTENDERS[name].share))


def measure(name: str, count: int) -> float:
    """Orders a second. Raises `Unavailable`."""
    if name in OURS:
        return OURS[name](count)
    server.empty()  # nothing of the engine's is left for the database to tidy up meanwhile
    return contest.measure_throughput(contest.CONTENDERS[name], count)


if __name__ == "__main__":
    main()
