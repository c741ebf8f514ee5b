"""Holds a response back until something happens (`Prefer: wait=N`)."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import connection
from rest_framework.request import Request

from orders.access.addresses import read_ip_address
from orders.api import requests
from sasweb.shutdown import STOPPING

FIRST_POLL = 0.02
LONGEST_POLL = 0.25
GROWTH = 1.3


class WaitingRoom:
    """Lets at most `places` requests wait at a time, no more than a quarter of them of one account or from one IP
    address. Further requests do not wait."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._share = max(1, places // 4)
        self._lock = threading.Lock()
        self._taken = 0
        self._taken_by: Counter[str] = Counter()

    def wait(self, has_happened: Callable[[], bool], *, request: Request, seconds: float) -> bool:
        """Waits up to `seconds` for `has_happened`. False if there was no room to wait.

        Polls the database and holds no connection between polls. Ends early if the client disconnects or this
        process is stopping.
        """
        clients = (f"account:{requests.client_id(request)}", f"address:{read_ip_address(request)}")
        if not self._enter(clients):
            return False
        try:
            _poll(has_happened, _client_left(request), time.monotonic() + seconds)
        finally:
            self._leave(clients)
        return True

    def _enter(self, clients: Sequence[str]) -> bool:
        with self._lock:
            is_full = self._taken >= self._places
            if is_full or any(self._taken_by[client] >= self._share for client in clients):
                return False
            self._taken += 1
            self._taken_by.update(clients)
            return True

    def _leave(self, clients: Sequence[str]) -> None:
        with self._lock:
            self._taken -= 1
            self._taken_by -= Counter(clients)  # drops the zero counts, too


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
