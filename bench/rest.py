"""What one web process does through the REST API: requests a second, how long each takes, and what it costs.

    .venv/bin/python -m bench rest [--seconds S] [--only ROW]… [--orders N] [--held N]

The clients run in a process of their own, and `ceiling` is how fast they get /healthz from the same server: what they
themselves can do. For each row 16 clients send one request after the other for `--seconds`. Then requests come evenly
at half of the rate that was reached, and the milliseconds of each begin when it is due. Reads are of 1,000 orders of
ten accounts, and a known one names the version that is current (304). The list is the first page of an account with
`--orders` orders, half of them finished. Statements and round trips are counted on the wire, in a second web process,
and are those of the cheapest of several requests. They need a database that is reached by its socket.

In the end the web holds `--held` requests that wait (`Prefer: wait=60`) and as many streams, and reads are measured
beside them.
"""

import bench.ready  # noqa: F401, I001 - sets up Django, so it goes first

import argparse
import asyncio
import contextlib
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from bench import clients, machine, rest_store, server, tables
from bench.clients import Answers, Held
from bench.rest_store import Store
from tests.support.proxy import DatabaseProxy
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.server import Server

CLIENTS = 16
COUNTED = 10
"""Times that a request of each kind is sent, of which the cheapest is counted."""
WARM_UP = 0.1
"""Share of `--seconds` for which each row is not measured at first."""


class Row(NamedTuple):
    """A kind of request: what is sent, how it must be answered, and what we aim at."""

    requests: Callable[[Store], list[bytes]]
    status: int
    aim: str


ROWS = {
    "ceiling": Row(lambda _: [rest_store.request("GET /healthz")], 200, ""),
    "known read": Row(lambda store: rest_store.reads(store, has_tag=True), 304, "2,500/s"),
    "read": Row(rest_store.reads, 200, ""),
    "order": Row(rest_store.orders, 202, "800/s"),
    "list of 50": Row(rest_store.lists, 200, "p50 < 10 ms"),
}
HELD = "held"
COLUMNS = (
    *("request", "requests/s", "p50 ms", "p99 ms", "half rate: p50 ms", "half rate: p99 ms", "statements"),
    *("round trips", "CPU ms web", "CPU ms PostgreSQL", "aim"),
)
HELD_COLUMNS = ("a read beside", "waiters held", "streams held", "p50 ms", "p99 ms", "aim")
HALF_RATE_AIM = "p99 at half rate < 100 ms"
HELD_AIM = "1,000 and 1,000, < 20 ms"


@contextlib.contextmanager
def running(url: str) -> Iterator[Server]:
    """A web process on the database of this url."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        web = Server(
            Path(folder) / "web.log",
            database_url=url,
            forked=False,
            VAR_DIR=folder,
            SECRET_KEY=settings.SECRET_KEY,
        )
        try:
            until(web.answers, seconds=60, what="the web server")
            yield web
        finally:
            web.end()


def measure(load: Executor, web: Server, row: Row, requests: Sequence[bytes], seconds: float) -> list[Any]:
    """The cells of a row, but for the counts."""
    in_turn = (clients.send_in_turn, web.port, requests, CLIENTS)
    check(run(load, *in_turn, max(WARM_UP * seconds, 0.2)), row)
    spent = processor_times(web)
    answers = check(run(load, *in_turn, seconds), row)
    costs = [
        (after - before) * 1000 / len(answers.milliseconds)
        for before, after in zip(spent, processor_times(web), strict=True)
    ]
    half = check(run(load, clients.send_at_rate, web.port, requests, answers.rate / 2, seconds), row)
    return [f"{answers.rate:,.0f}", *percentiles(answers), *percentiles(half), *costs]


def check(answers: Answers, row: Row) -> Answers:
    """Ends this process if an answer has another status than it must have."""
    if set(answers.statuses) != {row.status}:
        raise SystemExit(f"bench: answered with {dict(answers.statuses)} instead of {row.status}")
    return answers


def percentiles(answers: Answers) -> list[float]:
    """The median and the 99th percentile."""
    return [server.percentile(answers.milliseconds, per_cent) for per_cent in (50, 99)]


def processor_times(web: Server) -> tuple[float, float]:
    """Processor seconds that the web and PostgreSQL have used so far."""
    return sum(map(machine.processor_seconds, web.workers())), server.processor_seconds()


def run(load: Executor, act: Callable[..., Any], *arguments: Any) -> Any:
    """Runs a coroutine function in the clients' process."""
    return load.submit(run_here, act, arguments).result()


def run_here(act: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Runs a coroutine function."""
    return asyncio.run(act(*arguments))


def count(store: Store, names: Sequence[str]) -> dict[str, list[float]]:
    """Statements and round trips of each of these rows. Nothing on a server that has no socket."""
    at = conninfo_to_dict(database_url())
    if not str(at.get("host", "")).startswith("/"):
        return {}
    proxy = DatabaseProxy(
        Path(str(at["host"])), str(at.get("port") or 5432), url=(str(at["user"]), str(at["dbname"]))
    )
    try:
        with running(proxy.url) as web:
            return {name: count_row(proxy, web, ROWS[name], ROWS[name].requests(store)) for name in names}
    finally:
        proxy.close()


def count_row(proxy: DatabaseProxy, web: Server, row: Row, requests: Sequence[bytes]) -> list[float]:
    """Statements and round trips of the cheapest of some requests."""
    counts = []
    for _ in range(COUNTED):
        before = proxy.traffic
        check(run_here(clients.send_once, (web.port, requests[0])), row)
        counts.append([after - earlier for earlier, after in zip(before, proxy.traffic, strict=True)])
    return [float(cell) for cell in min(counts)]


def measure_rows(
    load: Executor, web: Server, store: Store, names: Sequence[str], seconds: float
) -> list[list[Any]]:
    """The rows of the first table."""
    counts = count(store, names)
    rows = []
    for name in names:
        row = ROWS[name]
        cells = measure(load, web, row, row.requests(store), seconds)
        aims = ", ".join(filter(None, (row.aim, HALF_RATE_AIM if row.aim.endswith("/s") else "")))
        rows.append([name, *cells[:5], *counts.get(name, ["", ""]), *cells[5:], aims])
    return rows


def measure_held(load: Executor, web: Server, store: Store, held: int, seconds: float) -> list[list[Any]]:
    """The rows of the second table: reads beside nothing, and beside what is held."""
    waiters = take(rest_store.reads(store, has_tag=True, wait=60), held)
    streams = take(rest_store.streams(store), held)
    rows = []
    for name, many in (("nothing", False), (f"{held:,} waiters and {held:,} streams", True)):
        sent = (waiters, streams) if many else ([], [])
        beside: Held = run(load, clients.hold, web.port, *sent, rest_store.reads(store), seconds)
        check(beside.answers, ROWS["read"])
        rows.append(
            [name, beside.waiters, beside.streams, *percentiles(beside.answers), HELD_AIM if many else ""]
        )
    return rows


def take(requests: Sequence[bytes], number: int) -> list[bytes]:
    """That many of the requests, over and over."""
    return [requests[at % len(requests)] for at in range(number)]


def main() -> None:
    """Measures and prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench rest", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each figure; %(default)s by default")
    parser.add_argument(
        "--only",
        action="append",
        choices=(*ROWS, HELD),
        help=f"a row, may be repeated, or {HELD}; all by default",
    )
    parser.add_argument("--orders", type=int, default=1_000, help="of the account with the list")
    parser.add_argument(
        "--held", type=int, default=1_000, help="waiters, and streams; %(default)s by default"
    )
    options = parser.parse_args()
    names = [name for name in ROWS if name in (options.only or ROWS)]
    server.require_database_url()
    store = rest_store.fill(options.orders)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as load, running(database_url()) as web:
        if names:
            tables.print_table(COLUMNS, measure_rows(load, web, store, names, options.seconds))
        if HELD in (options.only or [HELD]):
            tables.print_table(HELD_COLUMNS, measure_held(load, web, store, options.held, options.seconds))


if __name__ == "__main__":
    main()
