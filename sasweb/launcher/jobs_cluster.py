"""Inside the django-q2 cluster that `manage.py run_jobs` watches: no process outlives its parent, and jobs hear of a
stop."""

import contextlib
import os
import select
import signal
import time

from sasweb.launcher.children import set_death_signal

STOP_NOTICE = signal.SIGUSR1  # sent to every process of the cluster when it has to stop


class _State:
    is_stopping = False
    forking = 0  # the process that is forking
    notice: tuple[int, int] | None = None  # a pipe of the cluster, readable once it has to stop


def is_stopping() -> bool:
    """Whether the cluster has been asked to stop. A long job checks this now and then and ends early, or it is
    killed."""
    return _State.is_stopping


def rest(seconds: float) -> None:
    """Sleeps that long, or until the cluster has to stop."""
    if _State.notice is None:
        time.sleep(seconds)
    elif not _State.is_stopping:
        select.select([_State.notice[0]], [], [], seconds)


def join(*, watch: int) -> None:
    """Call this in the cluster's first process, before it forks: no process then outlives its parent, nor the first
    `watch`.

    Otherwise django-q2 leaves its workers behind when the cluster or its sentinel is killed.
    """
    set_death_signal(signal.SIGKILL, parent=watch)
    _State.notice = os.pipe()
    os.set_blocking(_State.notice[1], False)
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
    signal.signal(STOP_NOTICE, _on_stop_notice)


def _before_fork() -> None:
    _State.forking = os.getpid()


def _after_fork() -> None:
    set_death_signal(signal.SIGKILL, parent=_State.forking)


def _on_stop_notice(_signum: int, _frame: object) -> None:
    _State.is_stopping = True
    if _State.notice:
        with contextlib.suppress(BlockingIOError):
            os.write(_State.notice[1], b".")
