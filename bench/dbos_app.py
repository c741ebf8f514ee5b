"""The same work for DBOS: a durable workflow of four steps that answer at once. Run in an environment with `dbos`.

PYTHON bench/dbos_app.py prepare URL        creates its tables
PYTHON bench/dbos_app.py fill URL N         enqueues N workflows
PYTHON bench/dbos_app.py work URL           runs them, until SIGTERM
"""

import signal
import sys

from dbos import DBOS, DBOSClient

QUEUE = "orders"
AT_ONCE = 100
"""Workflows that one process runs at the same time."""


@DBOS.step()
def answer_at_once(name: str, number: int) -> dict[str, str]:
    return {"ok": name}


@DBOS.workflow()
def four_steps(number: int) -> str:
    for name in ("first", "second", "third", "fourth"):
        answer_at_once(name, number)
    return "processed"


def launch(url: str) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "log_level": "ERROR",
            "application_version": "1",
            "executor_id": "prepare" if sys.argv[1] == "prepare" else f"worker-{sys.argv[3]}",
        }
    )
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=AT_ONCE, polling_interval_sec=0.1)


def main() -> None:
    act, url = sys.argv[1:3]
    if act == "fill":
        client = DBOSClient(system_database_url=url)
        for number in range(int(sys.argv[3])):
            client.enqueue(
                {"queue_name": QUEUE, "workflow_name": four_steps.__qualname__, "app_version": "1"}, number
            )
        client.destroy()
        return
    launch(url)
    if act == "work":
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
    DBOS.destroy()


if __name__ == "__main__":
    if sys.argv[1] == "work":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
