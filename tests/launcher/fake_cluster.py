"""Behaves like a django-q2 cluster: a process that forks workers, and forks another one when one dies.

    python -m tests.launcher.fake_cluster [obedient | stubborn]

SIGUSR2 makes a worker end in good order. A stubborn cluster, and its jobs, do not react to a stop.
"""

import multiprocessing
import os
import signal
import sys
import time

from sasweb.launcher import jobs_cluster

IS_OBEDIENT = "obedient" in sys.argv


class Stop:
    was_asked_for = False


def on_term(*_: object) -> None:
    Stop.was_asked_for = True


def say(text: str) -> None:
    """Writes a line in one piece, because several processes share the pipe."""
    os.write(1, f"{text}\n".encode())


def work() -> None:
    signal.signal(signal.SIGUSR2, lambda *_: sys.exit(0))
    say(f"worker {os.getpid()}")
    while not (jobs_cluster.is_stopping() and IS_OBEDIENT):
        time.sleep(0.02)
    say("a job was told to come to an end")


def main() -> None:
    jobs_cluster.join(watch=os.getppid())
    signal.signal(signal.SIGTERM, on_term)
    context = multiprocessing.get_context("fork")
    workers: list[multiprocessing.process.BaseProcess] = []
    say(f"cluster {os.getpid()}")
    while workers or not Stop.was_asked_for:
        workers = [worker for worker in workers if worker.is_alive()]
        while len(workers) < 2 and not Stop.was_asked_for:
            workers.append(context.Process(target=work, daemon=True))
            workers[-1].start()
        time.sleep(0.3)


if __name__ == "__main__":
    main()
