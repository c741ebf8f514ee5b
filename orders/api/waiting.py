"""Holds a response back until something happens (`Prefer: wait=N`)."""

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
    """Lets at most `places` requests wait at a time. Further requests do not wait."""

    def __init__(self, places: int) -> None:
        self._places = threading.BoundedSemaphore(places)

    def wait(self, has_happened: Callable[[], bool], *, request: Request, seconds: float) -> bool:
        """Waits up to `seconds` for `has_happened`. False if there was no room to wait.

        Polls the database and holds no connection between polls. Ends early if the client disconnects or this
        process is stopping.
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
        remaining = ends - time.monotonic()
        if remaining <= 0 or client_left():
            return
        if not connection.in_atomic_block:
            connection.close()
        if STOPPING.wait(min(pause, remaining)):
            return
        pause = min(pause * GROWTH, LONGEST_POLL)


def _client_left(request: Request) -> Callable[[], bool]:
    """Whether the client has disconnected. Only our ASGI server can tell; under WSGI it always seems connected."""
    disconnected = request.META.get("asgi.scope", {}).get("sasweb.gone")
    return disconnected.is_set if disconnected else lambda: False


ROOM = WaitingRoom(settings.WEB_THREADS // 2)
