"""The stop of a web process: requests that wait are woken at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType

from django.db import connection

STOPPING = threading.Event()
"""Set when this process has been asked to stop."""


def watch_signals(*calls: Callable[[], None]) -> None:
    """On SIGTERM and SIGINT sets `STOPPING` and makes these calls, then runs the handler that was there before.

    The server hears of signals through its event loop, which this does not disturb. Does nothing outside the main
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
    """Closes the pool's idle database connections."""
    connection.close_pool()  # type: ignore[attr-defined]
