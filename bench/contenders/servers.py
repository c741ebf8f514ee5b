"""Where each contender keeps its state: a database on the bench's PostgreSQL server, or a server of its own."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from django.db import connection

from bench.contenders.environments import PROJECT, Unavailable, folder, last_line, python
from sasweb.launcher import children
from tests.support.system import database_url

START = 60.0
"""Seconds in which a server must answer."""
HYPERCORN = """
bind = "127.0.0.1:{port}"
h2_max_concurrent_streams = 2147483647
keep_alive_max_requests = 2147483647
keep_alive_timeout = 2147483647
workers = 2
"""
"""As Restate's documentation has it for production, with a worker for each core."""
RESTATE_BINARY = "node_modules/@restatedev/restate-server-linux-x64/bin/restate-server"


@contextlib.contextmanager
def postgres(place: Path) -> Iterator[str]:
    """Creates a temporary database on the bench's server. Yields its url."""
    name = f"bench_contender_{os.getpid()}"  # tests run several benches at once
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        yield database_url().replace(f"/{connection.settings_dict['NAME']}?", f"/{name}?")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def temporal(place: Path) -> Iterator[str]:
    """Runs Temporal's development server. Yields its address.

    Its state is a SQLite file. A write-ahead log that is synced at every commit is as durable as SQLite's default, and
    faster.
    """
    (port,) = free_ports(1)
    command = [
        *(str(folder("temporal") / "bin" / "temporal"), "server", "start-dev", "--headless"),
        *("--port", str(port), "--db-filename", str(place / "temporal.db"), "--log-level", "error"),
        *("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=full"),
    ]
    with running(command, place / "server.log") as server:
        wait_until_open(port, server, place / "server.log")
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def restate(place: Path) -> Iterator[str]:
    """Runs Restate's server on a folder, and two processes that serve the workflow. Yields the server's two urls."""
    ingress, admin, node, service = free_ports(4)
    (place / "hypercorn.toml").write_text(HYPERCORN.format(port=service))
    command = [
        *(str(folder("restate") / RESTATE_BINARY), "--no-logo", "--base-dir", str(place / "state")),
        *("--node-name", "bench", "--listen-mode", "tcp", "--bind-ip", "127.0.0.1", "--bind-port", str(node)),
    ]
    settings = {
        "RESTATE_INGRESS__BIND_PORT": str(ingress),
        "RESTATE_ADMIN__BIND_PORT": str(admin),
        "RESTATE_DISABLE_TELEMETRY": "true",
    }
    serve = [python("restate"), "-m", "hypercorn", "--config", str(place / "hypercorn.toml")]
    serve.append("bench.contenders.restate_app:served")
    with (
        running(command, place / "server.log", **settings) as server,
        running(serve, place / "service.log") as served,
    ):
        for port in (ingress, admin):
            wait_until_open(port, server, place / "server.log")
        wait_until_open(service, served, place / "service.log")
        register(f"http://127.0.0.1:{admin}/deployments", f"http://127.0.0.1:{service}")
        yield f"http://127.0.0.1:{ingress},http://127.0.0.1:{admin}"


def register(deployments: str, service: str) -> None:
    """Tells Restate where the workflow is served. Raises `Unavailable`."""
    request = urllib.request.Request(
        deployments, json.dumps({"uri": service}).encode(), {"Content-Type": "application/json"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        direct.open(request, timeout=START).close()
    except OSError as error:
        raise Unavailable(f"its server does not reach its service: {error}") from error


@contextlib.contextmanager
def running(command: Sequence[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program with its children, and stops it in order. Raises `Unavailable` when it cannot be started."""
    with log.open("wb") as output:
        try:
            env = {**os.environ, **environment}
            process = children.spawn(
                command, env=env, cwd=PROJECT, output=output, death_signal=signal.SIGTERM
            )
        except OSError as error:
            raise Unavailable(f"{Path(command[0]).name} cannot be started: {error}") from error
    try:
        yield process
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def wait_until_open(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Waits until a program takes connections. Raises `Unavailable`."""
    ends = time.monotonic() + START
    while process.poll() is None and time.monotonic() < ends:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    name = Path(str(process.args[0] if isinstance(process.args, list) else process.args)).name
    raise Unavailable(f"{name} does not answer: {last_line(log.read_text(errors='replace'))}")
