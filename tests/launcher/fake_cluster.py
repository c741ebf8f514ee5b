"""Behaves like a django-q2 cluster: a process that forks workers, and forks another one when one dies.

    python -m tests.launcher.fake_cluster [obedient | stubborn]

SIGUSR2 makes a worker exit normally. A stubborn cluster and its jobs ignore a stop.
"""

import os
import signal
import sys
import time
from collections.abc import Callable

from sasweb.launcher import jobs_cluster

IS_OBEDIENT = "obedient" in sys.argv


class Stop:
    is_requested = False


def on_term(*_: object) -> None:
    Stop.is_requested = True


def say(text: str) -> None:
    """Writes a line in one piece, because several processes share the pipe."""
    os.write(1, f"{text}\n".encode())


def work() -> None:
    signal.signal(signal.SIGUSR2, lambda *_: sys.exit(0))
    say(f"worker {os.getpid()}")
    while not (jobs_cluster.is_stopping() and IS_OBEDIENT):
        jobs_cluster.rest(60 if IS_OBEDIENT else 0.02)
    say("a job was told to stop")


def fork(act: Callable[[], None]) -> int:
    """Runs `act` in a new process, and returns its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        finally:
            os._exit(0)
    return pid


def is_running(pid: int) -> bool:
    """Whether a child runs. One that has ended stays a zombie, so that the watch can always read how it ended."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def main() -> None:
    jobs_cluster.join(watch=os.getppid())
    signal.signal(signal.SIGTERM, on_term)
    workers: list[int] = []
    say(f"cluster {os.getpid()}")
    while workers or not Stop.is_requested:
        workers = [worker for worker in workers if is_running(worker)]
        while len(workers) < 2 and not Stop.is_requested:
            workers.append(fork(work))
        time.sleep(0.3)


if __name__ == "__main__":
    main()
