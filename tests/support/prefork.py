"""Starts Python processes of the product without importing its libraries for each.

Most of the cost of starting a process is the import of Django, psycopg and aiohttp, and the failure tests start
hundreds of processes. A server that has imported the libraries, but nothing of the product, forks a child for each
process that a test starts. The child has its own environment, session, output and arguments, and runs what Python would
run. It is a process like any other: it can be killed, stopped and waited for.

    python -m tests.support.prefork FD      the server, on the socket that it inherits
"""

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sasweb.launcher.children import set_death_signal

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = (
    *("django.core.management", "django.db.models", "django.forms", "django.template.backends.django"),
    *("django.db.backends.postgresql.base", "django.contrib.admin.options", "django.core.handlers.wsgi"),
    *("psycopg", "psycopg_pool", "aiohttp.web", "aiosmtplib", "aiosmtpd.smtp", "asyncio", "babel.dates"),
    *("environs", "orjson", "prometheus_client", "psutil", "structlog", "uuid_utils.compat", "sqlite3"),
)
"""The libraries that can be imported before there are settings and that start no thread."""


class Forked:
    """A process that the server forked, with the part of `subprocess.Popen`'s interface that tests need."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.pid = self._number()
        self.returncode: int | None = None

    def _number(self) -> int:
        """The number on the server's next line, read byte by byte so that nothing of the line after it is lost."""
        line = b""
        while not line.endswith(b"\n"):
            byte = self._link.recv(1)
            assert byte, "the server of processes has ended"
            line += byte
        return int(line)

    def poll(self) -> int | None:
        """The exit status, or None while the process runs."""
        if self.returncode is None and select.select([self._link], [], [], 0)[0]:
            self.returncode = self._number()
            self._link.close()
        return self.returncode

    def wait(self, timeout: float) -> int:
        """The exit status. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None and not select.select([self._link], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        status = self.poll()
        assert status is not None
        return status

    def send_signal(self, signum: int) -> None:
        """Sends a signal, if the process still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signum)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def start(argv: Sequence[str], *, env: Mapping[str, str], log: Path, errors: Path | None = None) -> Forked:
    """Starts `python ARGV…` in a session of its own, with its output in a file, and its stderr in another if `errors`
    names one. ARGV is a file or `-m MODULE`."""
    log.touch()  # it must be there at once, as if the process were started from here
    own_end, other_end = socket.socketpair()
    files = [str(log), str(errors or log)]
    request = json.dumps({"argv": list(argv), "env": dict(env), "files": files}).encode()
    with other_end:
        _server().sendmsg([len(request).to_bytes(4, "big"), request], [_descriptor(other_end)])
    return Forked(own_end)


def complete(*argv: str, env: Mapping[str, str], bound: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Runs `python ARGV…` to its end. Raises `subprocess.TimeoutExpired` if it takes longer than `bound` seconds."""
    with TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        process = start(argv, env=env, log=output, errors=errors)
        try:
            status = process.wait(bound)
        finally:
            process.kill()
        return subprocess.CompletedProcess(argv, status, output.read_text(), errors.read_text())


def _descriptor(link: socket.socket) -> tuple[int, int, bytes]:
    return (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [link.fileno()]).tobytes())


@cache
def _server() -> socket.socket:
    """The server of this test process. It ends with the test process."""
    own_end, other_end = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.prefork", str(other_end.fileno())],
        cwd=ROOT,
        pass_fds=[other_end.fileno()],
    )
    other_end.close()
    atexit.register(process.wait)
    atexit.register(own_end.close)
    return own_end


def serve(link: socket.socket) -> list[str] | None:
    """Forks on each request. Returns the child's arguments in each child, and None when no more requests can come."""
    running: dict[int, socket.socket] = {}
    wakes = socket.socketpair()
    for end in wakes:
        end.setblocking(False)
    signal.set_wakeup_fd(wakes[1].fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready = select.select([link, wakes[0]], [], [])[0]
        if wakes[0] in ready:
            wakes[0].recv(4096)
            _report_ends(running)
        if link in ready:
            size, descriptors, _, _ = socket.recv_fds(link, 4, 1)
            if not size:
                return None
            request = json.loads(_read(link, int.from_bytes(size, "big")))
            answers = socket.socket(fileno=descriptors[0])
            pid = os.fork()
            if not pid:
                _become(request, [link, answers, *wakes, *running.values()])
                return list(request["argv"])
            answers.sendall(b"%d\n" % pid)
            running[pid] = answers


def _read(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += link.recv(size - len(data))
    return data


def _report_ends(running: dict[int, socket.socket]) -> None:
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            answers = running.pop(pid)
            with contextlib.suppress(BrokenPipeError), answers:
                answers.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(request: Mapping[str, Any], sockets: Sequence[socket.socket]) -> None:
    """Turns a fork into a new process: nothing of the server remains in it but the libraries."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for signum in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(signum, signal.SIG_DFL if signum == signal.SIGCHLD else signal.default_int_handler)
    for open_socket in sockets:
        open_socket.close()
    for number, file in enumerate(request["files"], start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()


def run(argv: Sequence[str]) -> None:
    """Runs what `python ARGV…` would run, as `__main__`."""
    if argv[0] == "-m":
        sys.argv = [argv[1], *argv[2:]]
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(argv)
        runpy.run_path(argv[0], run_name="__main__")


def main() -> None:
    set_death_signal(signal.SIGKILL, parent=os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.freeze()
    argv = serve(socket.socket(fileno=int(sys.argv[1])))
    if argv:
        run(argv)


if __name__ == "__main__":
    main()
