"""Shared by the benchmarks: an empty database, processes, and waiting for orders."""

import contextlib
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from django.core.management import call_command
from django.db import transaction

from bench import machine, noop
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.contracts import Workflow
from orders.engine.runtime.sql import fetch, run
from orders.models import AgentInstance, OrderProcess
from sasweb.launcher import children
from tests.support.system import Process, database_url
from tests.support.wait import until

ENGINE = (
    *(
        "orderprocess",
        "stepstate",
        "event",
        "agentrequest",
        "agentreply",
        "submissionmessage",
        "statusmessage",
        "statuscount",
    ),
    *("alert", "circuit", "agentinstance", "retrybudget", "leaderlease"),
)
TIMEOUT = 900.0
"""Seconds that a benchmark waits for orders, or for a process to be ready, before it gives up."""


def empty() -> None:
    """Creates the tables if there are none, and deletes all orders. Ends this process if DATABASE_URL is not set."""
    require_database_url()
    call_command("migrate", verbosity=0)
    run(f"TRUNCATE {', '.join(f'orders_{table}' for table in ENGINE)} CASCADE")
    without_limits()


def require_database_url() -> None:
    """Ends this process if DATABASE_URL is not set: the orders would be those of a running `bin/up`."""
    if not os.environ.get("DATABASE_URL"):
        sys.exit(
            "bench: this changes the database of DATABASE_URL, which is not set; run python -m bench NAME instead"
        )


def without_limits() -> None:
    """Lifts the time limits of this process's transactions: a benchmark stores hundreds of thousands of orders in
    one."""
    run("SET transaction_timeout = 0")
    run("SET idle_in_transaction_session_timeout = 0")


def fill_at_once(count: int, workflow: Workflow = noop.FOUR) -> float:
    """Stores orders in one transaction and wakes the schedulers. Returns the database's time afterwards."""
    with transaction.atomic():
        noop.fill(count, workflow)
        wake(Topic.SCHEDULER)
    return database_time()


def database_time() -> float:
    """The database's clock, in seconds."""
    return float(fetch("SELECT extract(epoch FROM clock_timestamp())")[0][0])


def processor_seconds() -> float:
    """Processor seconds that PostgreSQL has used so far, with all its sessions. It must run on this machine."""
    session = children.read_stat(fetch("SELECT pg_backend_pid()")[0][0])
    assert session is not None
    postmaster = session.parent
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    stats = [stat for pid in pids if (stat := children.read_stat(pid)) and stat.parent == postmaster]
    return machine.processor_seconds(postmaster, with_ended_children=True) + sum(
        _seconds_of_session(stat.pid) for stat in stats
    )


def _seconds_of_session(pid: int) -> float:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return machine.processor_seconds(pid)
    return 0.0  # it has ended, and its seconds are among those of the postmaster's ended children


@contextlib.contextmanager
def processes(*commands: Sequence[str], **environment: str) -> Iterator[list[Process]]:
    """Runs modules of this project, each given as `[MODULE, ARGUMENT…]`, and stops them in order afterwards."""
    started: list[Process] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        env = {**os.environ, "DATABASE_URL": database_url(), "VAR_DIR": folder, **environment}
        try:
            for number, (module, *arguments) in enumerate(commands):
                argv = ["-m", module, *arguments]
                started.append(Process(module, argv, env, Path(folder) / f"{number}.log"))
            yield started
            for process in started:
                process.terminate(30.0)
        except BaseException:
            for process in started:
                print(
                    f"--- {process.name}\n{process.log.read_text(errors='replace')[-2000:]}", file=sys.stderr
                )
            raise
        finally:
            for process in started:
                process.end()


def wait_for_agents(*names: str) -> None:
    """Waits until each of these agents has a host that reports itself; without one nothing is dispatched."""
    until(
        lambda: set(AgentInstance.objects.values_list("agent", flat=True)) >= set(names),
        seconds=60,
        what=f"hosts of {', '.join(names)}",
    )


def wait_until_processed(count: int, *, workflow: Workflow = noop.FOUR) -> None:
    """Waits until `count` orders of a workflow are Processed."""
    wait_for(lambda: processed(workflow), count)


def wait_for(count_now: Callable[[], int], count: int) -> None:
    """Waits until `count_now` reaches `count`. Checks only twice a second, so as not to disturb. Raises
    `TimeoutError`."""
    ends = time.monotonic() + TIMEOUT
    while (reached := count_now()) < count:
        if time.monotonic() > ends:
            raise TimeoutError(f"{reached} of {count} within {TIMEOUT} s")
        time.sleep(0.5)


def processed(workflow: Workflow = noop.FOUR) -> int:
    """The number of Processed orders of a workflow."""
    return OrderProcess.objects.filter(process_state="processed", workflow=workflow.name).count()


def percentile(values: Sequence[float], per_cent: float) -> float:
    """The value that `per_cent` of the values do not exceed."""
    if not values:
        return math.nan
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * per_cent / 100) - 1)]
