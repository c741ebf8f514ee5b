"""Keeps django-q2 clusters working, which do not survive `kill -9` of their own children.

All of this has been observed: an idle worker dies holding the queue's lock, and the cluster looks alive while nothing
runs; the cluster or its sentinel dies, and the rest live on as orphans; a stop waits for a busy worker without limit.
So each cluster runs in its own process group, which is replaced as a whole when a signal kills a member, when the
cluster ends, or when the database has shown no new sign of its work for too long. This relies on jobs being harmless
when they are killed and started again.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sasweb.launcher import children
from sasweb.launcher.jobs_cluster import STOP_NOTICE

STALE_AFTER = 20.0  # seconds without a new sweep, after which the group is replaced
STARTUP_GRACE = 30.0  # seconds that a new group, or one whose database was down, has for its first sweep
ASK_EVERY = 2.0  # seconds between two reads of the last signs
SCAN_EVERY = 0.5  # seconds between two searches for new members of the groups
STOP_GRACE = 5.0  # seconds that running jobs have to finish at a stop


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A cluster to keep working: the command that runs it, and how the database shows that it works.

    `last_sign` is called in a thread; when it last worked, or None. `standstill` says what is wrong if that has not
    changed for `stale_after` seconds; a new group has `grace` seconds for its first sign.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] | None = None
    last_sign: Callable[[], datetime | None]
    standstill: str
    stale_after: float = STALE_AFTER
    grace: float = STARTUP_GRACE


class SignAge:
    """Decides from what the database says whether a cluster still works.

    It goes by when the answer *changed*, on this machine's own clock, so clocks that differ do no harm. A database that
    cannot be reached proves nothing: once it is back, the group gets its grace period again.
    """

    def __init__(self, *, stale_after: float = STALE_AFTER, grace: float = STARTUP_GRACE) -> None:
        self._stale_after = stale_after
        self._grace = grace
        self._last: datetime | None = None
        self._deadline: float | None = None

    def restart(self) -> None:
        """Call this when a new group starts."""
        self._deadline = None

    def note_answer(self, sign: datetime | None, *, now: float) -> None:
        """Notes the database's answer; `now` is on the monotonic clock."""
        if self._deadline is None:
            self._deadline = now + self._grace
        elif sign != self._last:
            self._deadline = now + self._stale_after
        self._last = sign

    def note_silence(self) -> None:
        """Notes that the database could not be reached."""
        self._deadline = None

    def is_stale(self, *, now: float) -> bool:
        return self._deadline is not None and now > self._deadline


class Group:
    """A cluster's processes: one process group, led by the cluster itself."""

    def __init__(self, cluster: Cluster, selector: selectors.BaseSelector) -> None:
        """Every member is registered with `selector`, with its pid as data, so that its end is reported."""
        self.cluster = cluster
        self.age = SignAge(stale_after=cluster.stale_after, grace=cluster.grace)
        self._selector = selector
        self._process: subprocess.Popen[bytes] | None = None
        self._members: dict[int, int] = {}  # process -> pidfd
        self._deaths = children.Deaths()
        self._started = 0.0
        self._starts_at = 0.0

    @property
    def pid(self) -> int | None:
        """The cluster's first process, which leads the group; None if there is none."""
        return self._process.pid if self._process else None

    @property
    def is_empty(self) -> bool:
        return self._process is None or not children.group_members(self._process.pid)

    def start_if_due(self) -> None:
        """Starts the cluster, unless it runs or has to wait."""
        if self._process is None and time.monotonic() >= self._starts_at:
            self.age.restart()
            # No death signal here: it needs code between fork and exec, which is not safe while our thread runs. The
            # cluster sets its own (`sasweb.launcher.jobs_cluster`).
            self._process = children.spawn(self.cluster.argv, env=self.cluster.env, death_signal=None)
            self._started = time.monotonic()

    def find_members(self) -> None:
        """Starts watching processes that have joined the group."""
        for stat in children.group_members(self._process.pid) if self._process else ():
            if stat.pid not in self._members:
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    self._members[stat.pid] = os.pidfd_open(stat.pid)
                    self._selector.register(self._members[stat.pid], selectors.EVENT_READ, stat.pid)

    def find_loss(self, ended: Collection[int]) -> str | None:
        """Why the group has to be replaced: the cluster has ended, or one of these processes is a member and was
        killed, or no work shows. None if it need not be."""
        if self._process and self._process.poll() is not None:
            return f"the cluster {children.describe_end(self._process.returncode)}"
        loss = None
        for pid in self._members.keys() & set(ended):
            stat = children.read_stat(pid)
            self._forget(pid)
            # Its parent reaps it within half a second, so it is mostly seen as a zombie with its exit status. One that
            # was missed may have been killed; replacing a group for nothing does no harm.
            if stat is None or not stat.is_zombie or os.WIFSIGNALED(stat.exit_code):
                loss = f"process {pid} of the cluster was killed"
        if loss is None and self._process and self.age.is_stale(now=time.monotonic()):
            loss = self.cluster.standstill
        return loss

    def send_stop(self) -> None:
        """Asks the cluster to stop and its jobs to finish."""
        if self._process and self._process.poll() is None:
            children.send_group(self._process.pid, STOP_NOTICE)
            children.send(self._process.pid, signal.SIGTERM)

    def kill(self, *, spare: Collection[int]) -> None:
        """Kills every process of the group and orphans, and waits for them to end, 5 s at most. Our children in
        `spare` are no orphans."""
        if self._process is None:
            return
        children.send_group(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        children.wait_until(
            lambda: not children.kill_adopted(set(spare)) and self.is_empty, timeout=5.0, poll=0.01
        )
        for pid in list(self._members):
            self._forget(pid)
        self._process = None

    def put_off(self) -> float:
        """Has the next start wait if the cluster keeps dying. Returns for how many seconds."""
        pause = self._deaths.count(lived=time.monotonic() - self._started)
        self._starts_at = time.monotonic() + pause
        return pause

    def _forget(self, pid: int) -> None:
        pidfd = self._members.pop(pid)
        self._selector.unregister(pidfd)
        os.close(pidfd)


class JobsWatch:
    """Runs a group for each cluster, replaces it when necessary, and stops it. Call `run`; there is nothing else to
    call."""

    def __init__(
        self, clusters: Sequence[Cluster], *, unreachable: type[Exception], say: Callable[[str], None]
    ) -> None:
        """A `last_sign` raises `unreachable` when the database cannot be reached."""
        self._selector = selectors.DefaultSelector()
        self._groups = [Group(cluster, self._selector) for cluster in clusters]
        self._unreachable = unreachable
        self._say = say
        self._is_stopping = False
        self._is_stopping_at_once = False

    def run(self, *, pipe: int | None = None) -> None:
        """Keeps the groups working until SIGTERM or SIGINT. A second signal, or the end of `pipe`, kills them at
        once."""
        children.become_subreaper()
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        self._selector.register(reader, selectors.EVENT_READ)
        if pipe is not None:
            self._selector.register(pipe, selectors.EVENT_READ)
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: self._stop(at_once=self._is_stopping))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._ask_forever, daemon=True, name="last signs").start()
        while not self._is_stopping:
            for group in self._groups:
                group.start_if_due()
                group.find_members()
            ended = self._wait(SCAN_EVERY, pipe)
            for group in self._groups:
                reason = group.find_loss(ended)
                if reason and not self._is_stopping:
                    self._replace(group, reason)
        self._end(pipe)

    def _replace(self, group: Group, reason: str) -> None:
        self._kill(group)
        pause = group.put_off()
        when = f"in {pause:.0f} s" if pause else "now"
        self._say(f"{reason}; replacing the {group.cluster.name} cluster {when}")

    def _end(self, pipe: int | None) -> None:
        """Stops all groups together, and kills what does not stop in time."""
        for group in self._groups:
            group.send_stop()
        deadline = time.monotonic() + STOP_GRACE
        while not (self._are_empty() or self._is_stopping_at_once or time.monotonic() > deadline):
            ended = self._wait(0.05, pipe)
            for group in self._groups:
                group.find_loss(ended)
        for group in self._groups:
            self._kill(group)

    def _kill(self, group: Group) -> None:
        group.kill(spare={other.pid for other in self._groups if other is not group and other.pid})

    def _are_empty(self) -> bool:
        return all(group.is_empty for group in self._groups)

    def _wait(self, timeout: float, pipe: int | None) -> list[int]:
        """Waits until something happens. Returns the members of the groups that have ended."""
        ended = []
        for key, _ in self._selector.select(max(0.0, timeout)):
            if key.data is not None:
                ended.append(key.data)
            elif not os.read(key.fd, 1024) and key.fd == pipe:
                self._selector.unregister(pipe)
                self._stop(at_once=True)
        return ended

    def _stop(self, *, at_once: bool) -> None:
        self._is_stopping = True
        self._is_stopping_at_once |= at_once

    def _ask_forever(self) -> None:
        """Runs in a separate thread, because a query to a database that is down can take long."""
        while True:
            for group in self._groups:
                try:
                    sign = group.cluster.last_sign()
                except self._unreachable:
                    group.age.note_silence()
                else:
                    group.age.note_answer(sign, now=time.monotonic())
            time.sleep(ASK_EVERY)
