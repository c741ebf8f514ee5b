"""Holding an answer back until something happens (`Prefer: wait=N`)."""

import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import connection
from rest_framework.request import Request

from sasweb.shutdown import STOPPING

FIRST_POLL = 0.02
LONGEST_POLL = 0.25
GROWTH = 1.3


class WaitingRoom:
    """Has room for `places` requests at a time; whoever comes when it is full does not wait."""

    def __init__(self, places: int) -> None:
        self._places = threading.BoundedSemaphore(places)

    def wait(self, has_happened: Callable[[], bool], *, request: Request, seconds: float) -> bool:
        """Waits for `has_happened`, for at most `seconds`; False when there was no room to wait.

        Asks the database, and keeps no connection while it does not. Ends early when the client leaves and when this
        process is to stop.
        """
        if not self._places.acquire(blocking=False):
            return False
        try:
            _poll(has_happened, _client_left(request), time.monotonic() + seconds)
        finally:
            self._places.release()
        return True


def _poll(has_happened: Callable[[], bool], client_left: Callable[[], bool], ends: float) -> None:
    pause = FIRST_POLL
    while not has_happened():
        left = ends - time.monotonic()
        if left <= 0 or client_left():
            return
        if not connection.in_atomic_block:
            connection.close()
        if STOPPING.wait(min(pause, left)):
            return
        pause = min(pause * GROWTH, LONGEST_POLL)


def _client_left(request: Request) -> Callable[[], bool]:
    """Our ASGI side knows when a client leaves; another server's WSGI side does not."""
    gone = request.META.get("asgi.scope", {}).get("sasweb.gone")
    return gone.is_set if gone else lambda: False


ROOM = WaitingRoom(settings.WEB_THREADS // 2)
