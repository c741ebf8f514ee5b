"""Real processes for the launcher's tests, and bounded waits."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from sasweb.launcher import children

PROJECT = Path(__file__).resolve().parents[2]


def wait_for(condition: Callable[[], object], *, timeout: float = 60.0) -> None:
    """Fails the test if the condition does not hold within `timeout` seconds."""
    assert children.wait_until(lambda: bool(condition()), timeout=timeout, poll=0.02), "timed out"


def is_alive(pid: int) -> bool:
    stat = children.read_stat(pid)
    return stat is not None and not stat.is_zombie


def python(
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int | None = None,
) -> subprocess.Popen[str]:
    """Starts this Python in the project's folder, its output in a pipe; by default stderr goes to the test's own."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
        cwd=PROJECT,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


def line_with(process: subprocess.Popen[str], text: str, *, timeout: float = 180.0) -> str:
    """The process's next line of output that contains `text`.

    Fails if the output ends first. A process that does not print it within `timeout` seconds is killed.
    """
    assert process.stdout
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    try:
        for line in process.stdout:
            if text in line:
                return line.rstrip("\n")
    finally:
        timer.cancel()
    raise AssertionError(f"the output ended without {text!r}")
