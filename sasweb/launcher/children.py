"""Child processes that do not outlive their parent, and what /proc says about processes."""

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

QUICK_DEATH = 10.0  # seconds: a process that ends sooner than this died quickly
QUICK_DEATHS_FORGIVEN = 2
LONGEST_PAUSE = 5.0  # seconds between two starts of a process that keeps dying

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class User:
    """The user that a child runs as."""

    uid: int
    gid: int


@dataclass(frozen=True, kw_only=True)
class Stat:
    """A process as /proc/PID/stat shows it. `exit_code` is a wait status, and only meaningful for a zombie."""

    pid: int
    name: str
    state: str
    parent: int
    group: int
    exit_code: int

    @property
    def is_zombie(self) -> bool:
        return self.state in "ZX"


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: int | None = subprocess.DEVNULL,
    output: int | IO[bytes] | None = None,
    user: User | None = None,
    death_signal: int | None = signal.SIGKILL,
    own_session: bool = True,
) -> subprocess.Popen[bytes]:
    """Starts a child that gets `death_signal` when its parent ends, for whatever reason.

    `output` takes both stdout and stderr. The kernel sends the signal when the *thread* that forked ends, so only a
    child started in the main thread gets one. Raises `OSError` when the program cannot be started.
    """
    parent = os.getpid()

    def before_exec() -> None:
        set_death_signal(death_signal or 0, parent=parent)

    in_main_thread = threading.current_thread() is threading.main_thread()
    return subprocess.Popen(
        argv,
        env=env,
        cwd=cwd,
        stdin=stdin,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        user=user.uid if user else None,
        group=user.gid if user else None,
        extra_groups=[] if user else None,
        start_new_session=own_session,
        # Runs after the change of user, which would clear the signal.
        preexec_fn=before_exec if death_signal and in_main_thread else None,
    )


def set_death_signal(signum: int, *, parent: int) -> None:
    """Asks the kernel to send this process `signum` when `parent` ends; ends at once if it has already ended."""
    _libc.prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def become_subreaper() -> None:
    """Makes this process, instead of init, the parent of descendants whose own parent dies."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def read_stat(pid: int) -> Stat | None:
    """The process as it is now, or None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    head, _, tail = text.rpartition(")")  # the name itself may contain spaces and brackets
    fields = tail.split()
    return Stat(
        pid=pid,
        name=head.partition("(")[2],
        state=fields[0],
        parent=int(fields[1]),
        group=int(fields[2]),
        exit_code=int(fields[49]),
    )


def processes() -> Iterator[Stat]:
    """Every process that /proc shows."""
    for entry in os.listdir("/proc"):  # noqa: PTH208 - a Path for each of hundreds of entries is wasted work
        if entry.isdigit() and (stat := read_stat(int(entry))):
            yield stat


def group_members(group: int) -> list[Stat]:
    """The living processes of a process group."""
    return [stat for stat in processes() if stat.group == group and not stat.is_zombie]


def send(pid: int, signum: int) -> None:
    """Signals a process. One that has already ended is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signum)


def send_group(group: int, signum: int) -> None:
    """Signals every process of a group. A group that has already ended is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signum)


def kill_adopted(own_pids: set[int]) -> bool:
    """Kills the children of this process that are not in `own_pids`: orphans that it adopted as subreaper.

    Returns whether there were any.
    """
    adopted = [stat for stat in processes() if stat.parent == os.getpid() and stat.pid not in own_pids]
    for stat in adopted:
        if not stat.is_zombie:
            send(stat.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(stat.pid, os.WNOHANG)
    return bool(adopted)


def wait_until(condition: Callable[[], bool], *, timeout: float, poll: float = 0.05) -> bool:
    """Checks the condition every `poll` seconds until it holds; False if `timeout` seconds pass first."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(poll)
    return True


class Deaths:
    """Counts consecutive quick deaths of a process, and says how long its next start has to wait."""

    def __init__(self) -> None:
        self.quick = 0

    def count(self, *, lived: float) -> float:
        """Counts a death after `lived` seconds. Returns the pause in seconds: none until the third quick death."""
        self.quick = self.quick + 1 if lived < QUICK_DEATH else 0
        over = self.quick - QUICK_DEATHS_FORGIVEN
        return min(2.0 ** (over - 1), LONGEST_PAUSE) if over > 0 else 0.0


def describe_end(returncode: int) -> str:
    """Describes how a process ended, from `Popen.returncode`."""
    if returncode >= 0:
        return f"ended with exit status {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"
