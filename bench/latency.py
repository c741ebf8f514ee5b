"""Milliseconds from an accepted POST to Processed, one order at a time through the real web server.

    .venv/bin/python -m bench latency [--orders N] [--only no-op|sandbox]…
    .venv/bin/python -m bench latency --peers [--orders N] [--only NAME]…

The workflow is the shop's own, with five steps, four of them one after the other. In one run its agents answer at once,
without a remote service; in the other they call the sandbox over HTTP and SMTP, which adds no latency of its own.
Everything is idle between two orders. A time ends when another connection, which listens for it, sees the order as
Processed. With `--peers`, the engine alone is compared with its contenders (bench/peers.py).
"""

import argparse
import contextlib
import http.client
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from django.conf import settings

from bench import peers, server, tables
from orders.business import registry
from orders.engine.channels.wakeups import Topic
from tests.support.order_bodies import order_body
from tests.support.system import System, database_url
from tests.support.wait import until
from tests.web.server import Server

PAUSE = 0.02
"""Seconds between two orders, so that everything is idle when the next one arrives."""
WARM_UP = 20
AGENTS = ("no-op", "sandbox")
LONGEST = 30.0
"""Seconds after which an order counts as lost."""


class Times(NamedTuple):
    """Milliseconds: from sending the order to its 202, from there to Processed, and both."""

    accepted: float
    processed: float
    both: float


class Buyer:
    """Places orders over the REST API and waits for their end."""

    def __init__(self, port: int, token: str, sku: str) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
        self._headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        self._body = json.dumps(order_body(lines=[{"sku": sku, "quantity": 1}]))
        self._database = psycopg.connect(database_url(), autocommit=True)
        self._database.execute(f"LISTEN {Topic.PROGRESS.channel}")

    def buy(self) -> Times:
        """Places one order and waits until it is Processed."""
        began = time.perf_counter()
        self._http.request("POST", "/api/v1/orders", self._body, self._headers)
        response = self._http.getresponse()
        answer = response.read()
        accepted = time.perf_counter()
        assert response.status == 202, answer
        order_id = json.loads(answer)["id"]
        while not self._is_processed(order_id):
            if time.perf_counter() - began > LONGEST:
                raise TimeoutError(f"order {order_id} was not processed within {LONGEST} s")
            for _ in self._database.notifies(timeout=0.5, stop_after=1):
                pass
        processed = time.perf_counter()
        return Times(
            (accepted - began) * 1000,
            max(0.0, (processed - accepted) * 1000),
            (processed - began) * 1000,
        )

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()
        self._database.close()

    def _is_processed(self, order_id: str) -> bool:
        row = self._database.execute(
            "SELECT process_state FROM orders_orderprocess WHERE order_id = %s", [order_id]
        ).fetchone()
        return row is not None and row[0] == "processed"


@contextlib.contextmanager
def running(*, remote: bool) -> Iterator[Buyer]:
    """Runs the whole system, with the shop's agents or with agents that answer at once."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        system = System(Path(folder), STEP_COMPLETE_BY="30", SUPERVISOR_PERIOD="2")
        web = Server(
            Path(folder) / "web.log",
            database_url=database_url(),
            VAR_DIR=folder,
            SECRET_KEY=settings.SECRET_KEY,
        )
        buyer = None
        try:
            system.start_all("submission", "scheduler", "jobs", *(["agents"] if remote else []))
            commands = [] if remote else [["bench.noop", "agents", *registry.agent_names()]]
            with server.processes(*commands):
                server.wait_for_agents(*registry.agent_names())
                until(web.answers, seconds=60, what="the web server")
                token = (settings.CONFIG.var_dir / "demo-token").read_text().strip()
                buyer = Buyer(web.port, token, system.sku)
                yield buyer
        finally:
            if buyer is not None:
                buyer.close()
            web.end()
            system.end()


def measure(count: int, *, remote: bool) -> list[Times]:
    """Measures `count` orders, after a warm-up."""
    server.empty()
    with running(remote=remote) as buyer:
        times = []
        for _ in range(min(WARM_UP, count) + count):
            times.append(buyer.buy())
            time.sleep(PAUSE)
    return times[-count:]


def line(name: str, times: Sequence[Times]) -> list[Any]:
    """A row of the table."""
    cells: list[Any] = [name, len(times)]
    for values in zip(*times, strict=True):
        cells += [server.percentile(values, 50), server.percentile(values, 99)]
    return cells


def main() -> None:
    """Measures both and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench latency", description=__doc__.partition("\n")[0])
    parser.add_argument("--orders", type=int, default=100, help="of each row; %(default)s by default")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help=f"a row, may be repeated; all by default: {', '.join(AGENTS)}; with --peers {', '.join(peers.NAMES)}",
    )
    parser.add_argument("--peers", action="store_true", help="the engine alone beside its contenders")
    options = parser.parse_args()
    names = options.only or (peers.NAMES if options.peers else AGENTS)
    if unknown := set(names).difference(peers.NAMES if options.peers else AGENTS):
        parser.error(f"there is no row named {', '.join(sorted(unknown))}")
    if options.peers:
        columns = ["idle (ms)", "orders", "p50 ms", "p99 ms"]
        tables.print_table(columns, peers.rows(options.orders, names))
        return
    rows = [line(name, measure(options.orders, remote=name == "sandbox")) for name in names]
    spans = ("POST → 202", "202 → Processed", "POST → Processed")
    columns = [f"{span}, {per_cent}" for span in spans for per_cent in ("p50", "p99")]
    tables.print_table(["agents (ms)", "orders", *columns], rows)


if __name__ == "__main__":
    main()
