"""The stop of a web process: who waits for something to happen is told at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType

from django.db import connection

STOPPING = threading.Event()
"""Set when this process was asked to stop."""


def watch_signals(*calls: Callable[[], None]) -> None:
    """At SIGTERM and SIGINT sets `STOPPING` and makes these calls, and leaves what else happens then to the server.

    The server learns of a signal through its event loop, which this does not disturb. Does nothing outside the main
    thread, which alone may handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def on_signal(signum: int, frame: FrameType | None, before: object = before) -> None:
            STOPPING.set()
            for call in calls:
                call()
            if callable(before):
                before(signum, frame)

        signal.signal(number, on_signal)


def close_pool() -> None:
    """Closes the connections to the database that no thread has in use."""
    connection.close_pool()  # type: ignore[attr-defined]
