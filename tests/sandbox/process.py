"""The real sandbox as a process, and a small client."""

import http.client
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.ports import free_ports

PROJECT_DIR = Path(__file__).resolve().parent.parent.parent
BOUND = 60.0
"""Seconds after which a test gives up waiting."""

numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    content: Any

    @property
    def code(self) -> str:
        """The error code."""
        return str(self.content["error"]["code"])


def new_key() -> str:
    """A key that no other test uses."""
    return f"key-{next(numbers)}"


def eventually(check: Callable[[], Any]) -> Any:
    """The first truthy result of `check`. `check` calls the sandbox, so no pause is needed."""
    end = time.monotonic() + BOUND
    while time.monotonic() < end:
        if result := check():
            return result
    raise AssertionError(f"nothing happened within {BOUND} s")


def launch(var_dir: Path, bind: str, *, debug: str = "true") -> subprocess.Popen[str]:
    """Starts `python -m sandbox`."""
    return subprocess.Popen(
        [sys.executable, "-m", "sandbox"],
        cwd=PROJECT_DIR,
        env={**os.environ, "SANDBOX_BIND": bind, "VAR_DIR": str(var_dir), "DEBUG": debug},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Sandbox:
    """A running sandbox."""

    def __init__(self, var_dir: Path) -> None:
        self.var_dir = var_dir
        self.port = free_ports()
        self.start()

    def start(self) -> None:
        """Starts the sandbox on its port and waits for the line that says where it listens."""
        self._process = launch(self.var_dir, f"127.0.0.1:{self.port}")
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], BOUND)
        self.first_line = self._process.stdout.readline() if ready else ""
        assert self.first_line, self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGTERM) -> tuple[float, int, str]:
        """Ends the sandbox with a signal. Returns the seconds that it took, its exit status and remaining output."""
        began = time.monotonic()
        self._process.send_signal(number)
        out, err = self._process.communicate(timeout=BOUND)
        return time.monotonic() - began, self._process.returncode, out + err

    def is_running(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def open(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> http.client.HTTPConnection:
        """Sends a request without reading the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=BOUND)
        connection.request(method, path, body, headers)
        return connection

    def ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Reply:
        """Sends a request and reads the answer."""
        connection = self.open(method, path, body, headers or {})
        try:
            return read_reply(connection)
        finally:
            connection.close()

    def call(self, path: str, body: dict[str, Any], key: str) -> Reply:
        """Calls an operation."""
        return self.ask("POST", path, json.dumps(body).encode(), {"Idempotency-Key": key})

    def begin(self, path: str, body: dict[str, Any], key: str) -> http.client.HTTPConnection:
        """Calls an operation and returns as soon as the sandbox runs it: the same key then gets 409."""
        connection = self.open("POST", path, json.dumps(body).encode(), {"Idempotency-Key": key})
        assert eventually(lambda: self.call(path, body, key).status == 409)
        return connection

    def cuts(self, path: str, body: dict[str, Any], key: str) -> bool:
        """Whether the sandbox cuts a call's connection without an answer."""
        try:
            self.call(path, body, key)
        except (http.client.RemoteDisconnected, ConnectionResetError):
            return True
        return False

    def faults(self, service: str, **settings: Any) -> Reply:
        """Sets faults."""
        reply = self.ask("PUT", f"/_faults/{service}", json.dumps(settings).encode())
        assert reply.status == 200, reply
        return reply

    def ledger(self, service: str, key: str | None = None) -> list[dict[str, Any]]:
        """The ledger of a service, or its entries for one key."""
        entries: list[dict[str, Any]] = self.ask("GET", f"/_ledger/{service}").content
        return [entry for entry in entries if key in (None, entry.get("key"))]


def read_reply(connection: http.client.HTTPConnection) -> Reply:
    """Reads the answer to a request that has been sent."""
    response = connection.getresponse()
    return Reply(status=response.status, headers=dict(response.headers), content=json.loads(response.read()))
