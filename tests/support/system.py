"""The whole system as real processes: roles, sandbox, PostgreSQL. A test starts, kills and observes them."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.conf import settings
from django.db import connection

from orders.business import registry
from orders.demo import loading
from orders.engine.runtime.sql import database_now
from orders.models import AgentInstance, Circuit, Event, OrderProcess, SetAside, StepState
from orders.shop.models import Product
from orders.shop.placing import place_order
from tests.support import invariants, prefork
from tests.support.factories import new_order
from tests.support.ports import free_ports
from tests.support.wait import until

ENDED = ("processed", "compensated", "error")
SERVICES = ("warehouse", "payments", "carrier")

# Short enough for a test, long enough for a busy machine.
QUICK = {
    "STEP_COMPLETE_BY": "4",
    "ORDER_COMPLETE_BY": "120",
    "SUPERVISOR_PERIOD": "0.3",
    "CUSTOMER_WAIT": "1",
    "PROBE_PERIOD": "1",
    "RAMP": "2",
}

_RUN_AFTER = """
import os, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
sys.argv = ["manage.py", "run_{role}"]
{before}
import django
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""


class Process:
    """One process of the system: `python ARGV…`. Its output goes to a file, for the report of a failing test.

    A forked process starts with the libraries imported, which is quicker (`tests.support.prefork`).
    """

    def __init__(
        self, name: str, argv: list[str], env: dict[str, str], log: Path, *, forked: bool = False
    ) -> None:
        self.name = name
        self.log = log
        self._popen = prefork.start(argv, env=env, log=log) if forked else spawn(argv, env, log)
        self.pid = self._popen.pid

    def kill(self) -> None:
        """Sends SIGKILL and waits for the end."""
        self._popen.kill()
        self._popen.wait(30)

    def terminate(self, seconds: float = 60.0) -> int:
        """Sends SIGTERM; returns the exit status. Fails if the process takes longer than `seconds`."""
        self._popen.terminate()
        return self._popen.wait(seconds)

    def pause(self) -> None:
        """Sends SIGSTOP: the process lives, keeps its locks and leases, and does nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Sends SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Ends the process and its children, whatever their state."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(10)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, for whatever reason."""
        return self._popen.poll() is not None

    def says(self, text: str) -> bool:
        """Whether its output has this text."""
        return text in self.log.read_text(errors="replace")


def spawn(
    argv: Sequence[str], env: Mapping[str, str], log: Path, *, behind: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Starts `python ARGV…` in a session of its own, with its output in a file. The command `behind` may start it."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [*behind, sys.executable, *argv],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


class System:
    """A sandbox, and the roles that a test starts. All of them get `environment`.

    Without `forks` each process starts a new Python, and has a command line of its own.
    """

    def __init__(self, folder: Path, *, forks: bool = True, **environment: str) -> None:
        self.folder = folder
        self.forks = forks
        self.environment = {
            **os.environ,
            **QUICK,
            **environment,
            "DATABASE_URL": environment.get("DATABASE_URL", database_url()),
            "VAR_DIR": str(folder),
            "SECRET_KEY": settings.SECRET_KEY,
            "PYTHONUNBUFFERED": "1",
        }
        self.acknowledged: list[UUID] = []
        self.others: list[UUID] = []
        """The orders of other businesses than the shop."""
        self.calm_since = database_now()
        self.running: list[Process] = []
        loading.load(settings.CONFIG.var_dir)
        self.sku = Product.objects.order_by("sku").values_list("sku", flat=True)[0]
        self._start_sandbox()

    def _start_sandbox(self) -> None:
        """Starts the sandbox on a free port, and on another one if somebody takes that port first."""
        for _ in range(5):
            port = free_ports()
            self.sandbox_url = f"http://127.0.0.1:{port}"
            self.environment["SANDBOX_BIND"] = f"127.0.0.1:{port}"
            sandbox = self.start("sandbox")
            until(
                lambda process=sandbox: process.has_ended or process.says("sandbox: http://"),
                what="the sandbox",
            )
            if not sandbox.has_ended:
                until(self._sandbox_answers, what="the sandbox")
                return
        raise AssertionError("no free port for the sandbox")

    def start(self, role: str, *, before: str = "", **environment: str) -> Process:
        """Starts a role (submission, scheduler, agents, jobs) or the sandbox; `before` is Python that it runs first."""
        command = ["-m", "sandbox"] if role == "sandbox" else ["manage.py", f"run_{role}"]
        if before:
            command = ["-c", _RUN_AFTER.format(before=before, role=role)]
        log = self.folder / f"{len(self.running)}-{role}.log"
        forked = self.forks and not before  # what runs before the product must also run before its libraries
        if role == "sandbox":  # it refuses to run in production
            environment = {"DEBUG": "true", **environment}
        process = Process(role, command, {**self.environment, **environment}, log, forked=forked)
        self.running.append(process)
        return process

    def start_all(self, *roles: str) -> dict[str, Process]:
        """Starts one process of each of these roles, or of every role."""
        return {role: self.start(role) for role in roles or ("submission", "scheduler", "agents", "jobs")}

    def place(
        self, count: int = 1, *, payment_method: str = "card_ok", quantity: int = 1, **order: Any
    ) -> list[UUID]:
        """Places orders as the shop does, and remembers that they were acknowledged."""
        new = new_order(self.sku, quantity=quantity, payment_method=payment_method, **order)
        placed = [place_order(client="guest", order=new).order_id for _ in range(count)]
        self.acknowledged += placed
        return placed

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a management command to its end."""
        return prefork.complete("manage.py", *arguments, env=self.environment)

    def faults(self, service: str, **faults: Any) -> None:
        """Sets faults at the sandbox."""
        self._call("PUT", f"/_faults/{service}", faults)

    def no_faults(self) -> None:
        """Removes all faults, and remembers since when the system is calm."""
        self.clear_faults()
        self.calm_since = database_now()

    def clear_faults(self) -> None:
        """Removes all faults without using the database, which a browser test may not do."""
        self._call("DELETE", "/_faults")

    def ledger(self, service: str) -> list[dict[str, Any]]:
        """Every effect that a remote service had."""
        return self._call("GET", f"/_ledger/{service}")

    def effects(self, order_id: UUID) -> list[str]:
        """The operations that took effect for one order, in the order of time."""
        entries = [entry for service in SERVICES for entry in self.ledger(service)]
        own_entries = [entry for entry in entries if entry["order_id"] == str(order_id)]
        return [entry["operation"] for entry in sorted(own_entries, key=lambda entry: entry["at"])]

    def states(self, order_ids: Collection[UUID] | None = None) -> list[str]:
        """The states of these orders, or of all, sorted."""
        ids = self.acknowledged if order_ids is None else order_ids
        state_of = dict(
            OrderProcess.objects.filter(order_id__in=list(ids)).values_list("order_id", "process_state")
        )
        return sorted(state_of.get(order_id, "not inserted") for order_id in ids)

    def wait_until_ended(
        self, order_ids: Collection[UUID] | None = None, *, seconds: float = 240.0
    ) -> list[str]:
        """Waits until these orders, or all, have ended; returns their states."""
        try:
            until(
                lambda: all(state in ENDED for state in self.states(order_ids)),
                seconds=seconds,
                what="the end of the orders",
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.unfinished()}") from None
        return self.states(order_ids)

    def unfinished(self) -> str:
        """What is known about the first few orders that have not ended, for a failing test."""
        lines = []
        for order_id in self.acknowledged:
            process = OrderProcess.objects.filter(order_id=order_id).first()
            if process is not None and process.process_state in ENDED:
                continue
            lines.append(f"{process}: {None if process is None else vars(process)}")
            lines += [str(vars(step)) for step in StepState.objects.filter(process_id=order_id)]
            lines += [
                f"  {event.at:%H:%M:%S} {event.kind} {event.step} {event.attempt} {event.actor_name} {event.detail}"
                for event in Event.objects.filter(order_id=order_id).order_by("id")
            ]
            if len(lines) > 60:
                break
        lines += [str(vars(circuit)) for circuit in Circuit.objects.all()]
        lines += [str(vars(instance)) for instance in AgentInstance.objects.all()]
        lines += [str(vars(aside)) for aside in SetAside.objects.all()]
        return "\n".join(lines)

    def check(self) -> None:
        """Checks all invariants, against the store and the ledgers."""
        until(_is_quiet, what="empty channels")
        invariants.check_when_quiet(
            acknowledged=self.acknowledged,
            workflow=registry.newest_workflows()["fulfil-order"],
            ledgers={service: self.ledger(service) for service in SERVICES},
            limits=self.limits(),
            others=self.others,
        )

    def limits(self) -> invariants.Limits:
        """The limits that its settings mean."""
        return invariants.Limits(
            threshold=int(self.environment.get("FAILURE_THRESHOLD", "3")),
            retries_per_second=float(self.environment.get("RETRY_BUDGET", "100")),
            calm_since=self.calm_since,
            ends_within=600.0,  # longer than P4's three minutes, for a busy machine
        )

    def end(self) -> None:
        """Ends every process."""
        for process in reversed(self.running):
            process.end()

    def logs(self) -> str:
        """The last lines of every process, for a failing test."""
        tails = [
            f"--- {process.log.name}\n"
            + "\n".join(process.log.read_text(errors="replace").splitlines()[-25:])
            for process in self.running
        ]
        return "\n".join(tails)

    def _sandbox_answers(self) -> bool:
        try:
            self._call("GET", "/_faults")
        except OSError:
            return False
        return True

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.sandbox_url}{path}",
            data=data,
            method=method,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())


def database_url() -> str:
    """The test database, for a child process."""
    at = connection.settings_dict
    host, port = quote(at["HOST"], safe=""), at["PORT"] or 5432
    return f"postgresql://{at['USER']}@/{at['NAME']}?host={host}&port={port}"


def _is_quiet() -> bool:
    try:
        invariants.channels_are_empty()
        invariants.nothing_is_in_flight()
    except AssertionError:
        return False
    return True
