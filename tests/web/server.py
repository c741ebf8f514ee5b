"""The real web server, in its own process on a free port."""

import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import prefork
from tests.support.ports import free_ports
from tests.support.system import spawn
from tests.support.wait import until

ESTABLISHED, CLOSE_WAIT = "01", "08"
"""States of a connection in /proc/net/tcp."""


class Answer(NamedTuple):
    """A response, with its body as bytes and, if it is JSON, parsed."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """gunicorn with one worker, on `port` or any that is free. What it prints goes to `log`. `descriptors` is the most
    files that it may open. A forked one starts with the libraries imported (`tests.support.prefork`), and has their
    memory."""

    def __init__(
        self,
        log: Path,
        *,
        database_url: str,
        application: str = "sasweb.asgi:application",
        config: str = "sasweb.web_server",
        descriptors: int | None = None,
        forked: bool = True,
        port: int = 0,
        **env: str,
    ) -> None:
        self.port = port or free_ports()
        self.log = log
        argv = ["-m", "gunicorn", "-c", f"python:{config}", application]
        environment = {
            **os.environ,
            "BIND": f"127.0.0.1:{self.port}",
            "DATABASE_URL": database_url,
            "REQUIRE_SECOND_FACTOR": "false",
            "WATCHDOG": "false",
            "LIMITS": "off",
            **env,
        }
        limit = ["prlimit", f"--nofile={descriptors}:{descriptors}"] if descriptors else []
        self.process = (
            prefork.start(argv, env=environment, log=log)
            if forked and not limit
            else spawn(argv, environment, log, behind=limit)
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 20.0,
        source: str = "127.0.0.1",
    ) -> Answer:
        """Sends one request on its own connection, from this IP address of the machine. A body in pieces is sent in
        chunks."""
        client = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=timeout, source_address=(source, 0)
        )
        try:
            client.request(method, path, body=body, headers=dict(headers or {}))
            response = client.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            client.close()

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """A raw TCP connection from this IP address of the machine."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20, source_address=(source, 0))

    def workers(self) -> list[int]:
        """The process IDs of the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def connections(self) -> int:
        """How many connections the server has not closed."""
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        of_port = [state for _, local, _, state, *_ in lines if int(local.split(":")[1], 16) == self.port]
        return sum(state in (ESTABLISHED, CLOSE_WAIT) for state in of_port)

    def answers(self) -> bool:
        """Whether the server takes requests."""
        try:
            return self.request("GET", "/healthz").status == 200
        except (
            OSError,
            http.client.HTTPException,
        ):  # while nobody listens, a connection may even meet itself
            return False

    def stop(self, *, timeout: float = 180.0) -> float:
        """Asks the server to stop, and returns how many seconds that took. It must exit by itself, with status 0."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=timeout)
        assert status == 0, self.log.read_text()
        return time.monotonic() - begun

    def end(self) -> None:
        """Kills the server if it still runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(60)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Waits for a server, and stops it at the end."""
    try:
        until(server.answers, what="the server")
        yield server
        server.stop()
    finally:
        server.end()
