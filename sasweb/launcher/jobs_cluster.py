"""Inside the django-q2 cluster that `manage.py run_jobs` watches: no process outlives its parent, and jobs hear of a
stop."""

import os
import signal

from sasweb.launcher.children import set_death_signal

STOP_NOTICE = signal.SIGUSR1  # sent to every process of the cluster when it has to stop


class _State:
    is_stopping = False
    forking = 0  # the process that is forking


def is_stopping() -> bool:
    """Whether the cluster has been asked to stop. A long job checks this now and then and ends early, or it is
    killed."""
    return _State.is_stopping


def join(*, watch: int) -> None:
    """Call this in the cluster's first process, before it forks: no process then outlives its parent, nor the first
    `watch`.

    Otherwise django-q2 leaves its workers behind when the cluster or its sentinel is killed.
    """
    set_death_signal(signal.SIGKILL, parent=watch)
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
    signal.signal(STOP_NOTICE, _on_stop_notice)


def _before_fork() -> None:
    _State.forking = os.getpid()


def _after_fork() -> None:
    set_death_signal(signal.SIGKILL, parent=_State.forking)


def _on_stop_notice(_signum: int, _frame: object) -> None:
    _State.is_stopping = True
