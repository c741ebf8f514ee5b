"""The processes of this installation on this machine, by role: found in /proc, and killed to see the others recover."""

import contextlib
import os
import signal
from pathlib import Path

from sasweb.launcher import children

KILLABLE = ("submission", "scheduler", "agents", "jobs")
"""Roles whose death the others must survive, and which `bin/up` restarts."""


def pids_of(role: str, *, var_dir: Path) -> list[int]:
    """The processes of a role that work on this `VAR_DIR`, oldest first."""
    return [
        stat.pid
        for stat in sorted(children.processes(), key=lambda stat: stat.pid)
        if not stat.is_zombie and _is_of(stat.pid, role, var_dir)
    ]


def kill_one(role: str, *, var_dir: Path) -> int | None:
    """Kills a process of a role (SIGKILL) and returns its pid; None if there is none."""
    for pid in pids_of(role, var_dir=var_dir):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            return pid
    return None


def _is_of(pid: int, role: str, var_dir: Path) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if f"run_{role}".encode() not in words[1:4] or not any(
            word.endswith(b"manage.py") for word in words[1:3]
        ):
            return False
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or belongs to another user
        return False
    values = dict(variable.partition(b"=")[::2] for variable in environment)
    return Path(os.fsdecode(values.get(b"VAR_DIR", b""))).absolute() == var_dir.absolute()
