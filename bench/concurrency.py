"""Remote calls of 300 ms: how many one agent process makes at once, and the processor time of each.

    .venv/bin/python -m bench concurrency [--calls N] [--ms MS]…

An agent with a capacity of 2,000 makes each call over HTTP, as the shop's agents do, to a server on this machine that
answers after that many milliseconds. A real scheduler dispatches the calls. Longer calls mean more of them at once,
until the capacity is reached: the limit at 300 ms is calls a second, not connections.

    python -m bench.concurrency agents URL      runs the agent
    python -m bench.concurrency remote PORT MS  runs the remote service
"""

import argparse
import asyncio
import json
import sys
import time
import urllib.request
from typing import Any

from aiohttp import web

from bench import noop, server, tables
from bench.machine import processor_seconds
from orders.agents.transport import Remote
from orders.engine.contracts import Json, Request
from orders.models import OrderProcess
from tests.support.ports import free_ports
from tests.support.wait import until

CAPACITY = 2_000


class Caller:
    """Makes one HTTP call for each request."""

    name = "caller"
    capacity = CAPACITY
    call_timeout = 10.0

    def __init__(self, url: str) -> None:
        self._remote = Remote(url, timeout=self.call_timeout)

    async def perform(self, request: Request) -> Json:
        return await self._remote.post("call", key=request.key, body={"order_id": str(request.order_id)})

    async def compensate(self, request: Request) -> Json:
        return await self.perform(request)

    async def close(self) -> None:
        await self._remote.close()


class Service:
    """The remote service: answers after a delay, and counts the calls that wait."""

    def __init__(self, milliseconds: float) -> None:
        self._seconds = milliseconds / 1000
        self._now = 0
        self._peak = 0
        self._calls = 0
        self._held = 0.0
        self._since = self._first = time.monotonic()

    def _count(self, change: int) -> None:
        now = time.monotonic()
        if self._calls == 0:
            self._first = self._since = now
        self._held += self._now * (now - self._since)
        self._since = now
        self._now += change
        self._peak = max(self._peak, self._now)

    async def call(self, request: web.Request) -> web.Response:
        """`POST /call`."""
        self._count(+1)
        self._calls += 1
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self._count(-1)
        return web.json_response({"ok": True})

    async def counts(self, request: web.Request) -> web.Response:
        """`GET /counts`: calls, the most at once, the mean at once, and the seconds from the first to the last."""
        seconds = self._since - self._first
        mean = self._held / seconds if seconds else 0.0
        return web.json_response(
            {"calls": self._calls, "peak": self._peak, "mean": mean, "seconds": seconds, "now": self._now}
        )


def run_remote(port: int, milliseconds: float) -> None:
    """Serves until a signal."""
    service = Service(milliseconds)
    app = web.Application()
    app.router.add_post("/call", service.call)
    app.router.add_get("/counts", service.counts)
    web.run_app(app, host="127.0.0.1", port=port, print=None, backlog=4_096)


def counts(port: int) -> dict[str, Any]:
    """The remote service's counts; empty while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/counts", timeout=5) as answer:
            numbers: dict[str, Any] = json.loads(answer.read())
            return numbers
    except OSError:
        return {}


def measure(calls: int, milliseconds: float) -> list[Any]:
    """Measures one row of the table."""
    server.empty()
    port = free_ports()
    me = "bench.concurrency"
    with server.processes(
        [me, "agents", f"http://127.0.0.1:{port}"],
        ["bench.noop", "scheduler"],
        [me, "remote", str(port), str(milliseconds)],
    ) as (agents, _scheduler, _remote):
        until(lambda: counts(port), seconds=60, what="the remote service")
        server.wait_for_agents(Caller.name)
        before = processor_seconds(agents.pid)
        server.fill_at_once(calls, noop.ONE_CALL)
        server.wait_until_processed(calls, workflow=noop.ONE_CALL)
        spent = processor_seconds(agents.pid) - before
        counted = counts(port)
    assert OrderProcess.objects.filter(process_state="processed").count() == calls
    assert counted["calls"] == calls and not counted["now"], counted
    rate = calls / counted["seconds"]
    return [
        f"{milliseconds:g}",
        calls,
        counted["peak"],
        f"{counted['mean']:,.0f}",
        f"{rate:,.0f}",
        spent / calls * 1000,
    ]


def main() -> None:
    """Measures, or runs one of the processes."""
    match sys.argv[1:]:
        case ["agents", url]:
            noop.run_agents([Caller(url)])
            return
        case ["remote", port, milliseconds]:
            run_remote(int(port), float(milliseconds))
            return
    parser = argparse.ArgumentParser(
        prog="python -m bench concurrency", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument(
        "--ms", type=float, action="append", help="duration of a call in ms; 300 and 1500 by default"
    )
    options = parser.parse_args()
    rows = [measure(options.calls, milliseconds) for milliseconds in options.ms or (300.0, 1500.0)]
    columns = ("a call takes ms", "calls", "at once: most", "at once: mean", "calls/s", "CPU ms a call")
    tables.print_table(columns, rows)


if __name__ == "__main__":
    main()
