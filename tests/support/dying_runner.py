"""A runner of bulk actions that is killed before its nth statement: python -m tests.support.dying_runner

Each life is a process of its own, killed one statement later than the previous one, until one finds nothing left to
do. Prints how many lives that took.
"""

import os
import signal
import sys
from typing import Any

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
    django.setup()
    lives = 0
    while True:
        lives += 1
        child = os.fork()
        if not child:
            live(lives)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            print(lives)
            return
        if not os.WIFSIGNALED(status):
            sys.exit(f"life {lives} ended with {status}")


def live(last: int) -> None:
    """Runs passes until nothing is left to do or the `last` statement comes."""
    from django.db import connection  # noqa: PLC0415 - needs Django to be set up

    from orders.services.operators import bulk_runner  # noqa: PLC0415

    begun = 0

    def count(execute: Any, *statement: Any) -> Any:
        nonlocal begun
        begun += 1
        if begun == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(*statement)

    with connection.execute_wrapper(count):
        while any(bulk_runner.run_once().done.values()):
            pass


if __name__ == "__main__":
    main()
