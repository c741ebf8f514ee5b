"""Seconds from the SIGKILL of each role to the next progress of the orders it was working on.

    .venv/bin/python -m bench recovery [--times N] [--only ROLE]…

Everything runs under `manage.py up`, which restarts what dies. A time ends with the first event of the last of the
orders: it was inserted (submission), its reply was taken (scheduler), its step was answered (agents), its overdue step
was recovered (supervisor: only the leading process is killed; jobs: all of them are), it was accepted (web).
"""

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from bench import server, tables
from orders.engine.runtime.sql import database_now, fetch
from orders.models import (
    AgentRequest,
    Event,
    LeaderLease,
    OrderProcess,
    StepState,
    SubmissionMessage,
)
from orders.shop.models import Product
from orders.shop.placing import NewLine, NewOrder, place_order
from sasweb.launcher import children
from tests.support.order_bodies import DELFT, EMAIL
from tests.support.ports import free_ports
from tests.support.system import ENDED, Process, database_url
from tests.support.wait import until

ORDERS = 20
TIMEOUT = 120.0
MARKS = {
    "web": "gunicorn",
    "submission": "run_submission",
    "scheduler": "run_scheduler",
    "agents": "run_agents",
    "jobs": "run_jobs",
}


class Up:
    """`manage.py up`, with everything that it started."""

    def __init__(self, folder: Path) -> None:
        self.port, sandbox = free_ports(), free_ports()
        self.sandbox = f"http://127.0.0.1:{sandbox}"
        self._folder = folder
        environment = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "VAR_DIR": str(folder),
            "SECRET_KEY": settings.SECRET_KEY,
            "BIND": f"127.0.0.1:{self.port}",
            "SANDBOX_BIND": f"127.0.0.1:{sandbox}",
            "STEP_COMPLETE_BY": "30",
        }
        self.process = Process("up", ["manage.py", "up"], environment, folder / "up.log")

    def is_ready(self) -> bool:
        """Whether the web reports that everything runs."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def pid(self, role: str) -> int:
        """The current process of a role."""
        return until(lambda: self._find(MARKS[role]), seconds=TIMEOUT, what=role)

    def _find(self, mark: str) -> int:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (stat := children.read_stat(int(entry.name))) is not None:
                words = (entry / "cmdline").read_bytes() if stat.parent == self.process.pid else b""
                if mark.encode() in words and not stat.is_zombie:
                    return stat.pid
        return 0

    def faults(self, service: str, **faults: Any) -> None:
        """Sets faults in the sandbox."""
        self._call("PUT", f"{self.sandbox}/_faults/{service}", json.dumps(faults).encode())

    def no_faults(self) -> None:
        """Removes all faults."""
        self._call("DELETE", f"{self.sandbox}/_faults", None)

    def post(self) -> bool:
        """Posts an order. Returns whether it was accepted."""
        body = {**order_fields(), "lines": [{"sku": sku(), "quantity": 1}]}
        try:
            return (
                self._call("POST", f"http://127.0.0.1:{self.port}/api/v1/orders", json.dumps(body).encode())
                == 202
            )
        except OSError:
            return False

    def _call(self, method: str, url: str, body: bytes | None) -> int:
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Token {(self._folder / 'demo-token').read_text().strip()}",
        }
        request = urllib.request.Request(url, data=body, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)


def sku() -> str:
    """A product of the demonstration."""
    return Product.objects.order_by("sku").values_list("sku", flat=True)[0]


def order_fields() -> dict[str, Any]:
    """The fields of every order."""
    return {"ship_to": DELFT, "email": EMAIL, "payment_method": "card_ok"}


def place(count: int) -> list[UUID]:
    """Places orders as the shop does."""
    order = NewOrder(lines=[NewLine(sku=sku(), quantity=1)], **order_fields())
    return [place_order(client="guest", order=order).order_id for _ in range(count)]


def kill(pid: int) -> float:
    """Sends SIGKILL. Returns the database's time before that."""
    killed_at = server.database_time()
    os.kill(pid, signal.SIGKILL)
    return killed_at


def until_each_moves(orders: Sequence[UUID], killed_at: float, kinds: Sequence[str] = ()) -> float:
    """Seconds from the kill until every one of the orders has a new event, of these kinds if any are given."""

    def moved() -> list[float]:
        rows = fetch(
            """
            SELECT extract(epoch FROM min(at)) FROM orders_event
             WHERE order_id = ANY(%s) AND at > to_timestamp(%s) AND (kind = ANY(%s) OR %s) GROUP BY order_id
            """,
            [list(orders), killed_at, list(kinds), not kinds],
        )
        return [float(row[0]) for row in rows]

    until(lambda: len(moved()) == len(orders), seconds=TIMEOUT, what="progress of every order")
    return max(moved()) - killed_at


def submission(up: Up) -> float:
    """Kills submission while messages are in the queue."""
    pid = up.pid("submission")
    os.kill(pid, signal.SIGSTOP)
    orders = place(ORDERS)
    assert SubmissionMessage.objects.count() == ORDERS
    return until_each_moves(orders, kill(pid))


def scheduler(up: Up) -> float:
    """Kills the scheduler while orders are under way."""
    up.faults("carrier", latency_ms=[200, 300])
    pid = up.pid("scheduler")
    orders = place(ORDERS)
    until(lambda: states(orders).count("processing") == ORDERS, seconds=TIMEOUT, what="orders under way")
    return until_each_moves(orders, kill(pid))


def agents(up: Up) -> float:
    """Kills the agent host while calls are under way, whose leases then have to lapse."""
    up.faults("warehouse", latency_ms=[1_500, 2_000])
    pid = up.pid("agents")
    place(ORDERS)
    leased = AgentRequest.objects.filter(step="reserve-stock").exclude(leased_by=None)
    until(lambda: leased.count() == ORDERS, seconds=TIMEOUT, what="calls under way")
    killed_at = kill(pid)
    orders = list(leased.values_list("order_id", flat=True))
    up.no_faults()
    return until_each_moves(orders, killed_at, ("step_completed",))


def supervisor(up: Up, find: Callable[[Up], int] | None = None) -> float:
    """Kills the leader just before a step becomes overdue, which no other process would notice."""
    (order,) = place(1)
    up.faults("carrier", hang_rate=1.0)
    running = StepState.objects.filter(process_id=order, name="create-shipment", state="running")
    until(running.exists, seconds=TIMEOUT, what="a call that hangs")
    leader = LeaderLease.objects.get().holder or ""
    pid = find(up) if find else int(leader.split(":")[2])
    running.update(complete_by=database_now())
    killed_at = kill(pid)
    return until_each_moves([order], killed_at, ("step_timed_out",))


def jobs(up: Up) -> float:
    """Kills the whole cluster at the moment that a step becomes overdue."""
    return supervisor(up, find=lambda up: up.pid("jobs"))


def web(up: Up) -> float:
    """Kills the web, and posts until it accepts an order again."""
    os.kill(up.pid("web"), signal.SIGKILL)
    began = time.monotonic()
    until(up.post, seconds=TIMEOUT, what="an accepted order")
    return time.monotonic() - began


ROLES: dict[str, Callable[[Up], float]] = {
    "submission": submission,
    "scheduler": scheduler,
    "agents": agents,
    "supervisor": supervisor,
    "jobs": jobs,
    "web": web,
}


def states(orders: Sequence[UUID]) -> list[str]:
    """The states of these orders."""
    return list(OrderProcess.objects.filter(order_id__in=orders).values_list("process_state", flat=True))


@contextmanager
def running() -> Iterator[Up]:
    """Runs everything under `manage.py up`."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        up = Up(Path(folder))
        try:
            until(up.is_ready, seconds=TIMEOUT, what="manage.py up")
            until(lambda: LeaderLease.objects.exclude(holder=None).exists(), seconds=TIMEOUT, what="a leader")
            yield up
        except BaseException:
            print(up.process.log.read_text(errors="replace")[-3000:], file=sys.stderr)
            for order in OrderProcess.objects.exclude(process_state__in=ENDED):
                print(
                    order,
                    *Event.objects.filter(order_id=order.order_id).order_by("id"),
                    sep="\n  ",
                    file=sys.stderr,
                )
            raise
        finally:
            up.process.terminate(30.0)
            up.process.end()


def settle(up: Up) -> None:
    """Waits until every order has ended and everything runs again."""
    up.no_faults()
    until(
        lambda: not OrderProcess.objects.exclude(process_state__in=ENDED).exists(),
        seconds=TIMEOUT,
        what="the end",
    )
    until(up.is_ready, seconds=TIMEOUT, what="everything")
    until(lambda: LeaderLease.objects.exclude(holder=None).exists(), seconds=TIMEOUT, what="a leader")


def main() -> None:
    """Kills each role `--times` times and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench recovery", description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", action="append", choices=ROLES, metavar="ROLE", help=", ".join(ROLES))
    options = parser.parse_args()
    server.empty()
    rows = []
    with running() as up:
        for role in options.only or ROLES:
            times = []
            for _ in range(options.times):
                times.append(ROLES[role](up))
                print(f"{role}: {times[-1]:.1f} s", file=sys.stderr, flush=True)
                settle(up)
            rows.append([role, len(times), statistics.median(times), max(times)])
    tables.print_table(["killed (seconds)", "times", "median", "worst"], rows)


if __name__ == "__main__":
    main()
