"""Listening for wake-ups: one connection for each process, fanned out in memory.

A wake-up is only a hint. Everybody who is woken also polls, so a deaf listener costs time and nothing else. A half-open
socket looks like a quiet one, so the connection has TCP keepalives and is tested after a silence.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import connection

from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.text import first_line

log = structlog.get_logger()

SILENCE = 5.0
"""Seconds without a notification after which the connection is tested. Also the longest that `stop` takes."""


def connection_parameters() -> dict[str, Any]:
    """The parameters of a connection to the project's database that hears wake-ups, as psycopg names them."""
    if settings.LISTEN_PARAMETERS:
        return dict(settings.LISTEN_PARAMETERS)
    djangos_own = {"context", "cursor_factory", "prepare_threshold"}
    parameters = connection.get_connection_params()
    return {name: value for name, value in parameters.items() if name not in djangos_own}


class Listener(threading.Thread):
    """Calls a topic's function whenever somebody wakes the topic, and all the functions after each connection."""

    def __init__(self, *, parameters: Mapping[str, Any], on_wake: Mapping[Topic, Callable[[], None]]) -> None:
        super().__init__(name="listener", daemon=True)
        self._parameters = dict(parameters)
        self._on_wake = {topic.channel: call for topic, call in on_wake.items()}
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Ends the thread within `SILENCE` seconds."""
        self._stopping.set()

    def run(self) -> None:
        """Listens until `stop`, reconnecting whenever the connection is lost."""
        failures = 0
        while not self._stopping.is_set():
            try:
                with psycopg.connect(**self._parameters, autocommit=True) as connection:
                    for channel in self._on_wake:
                        connection.execute(f"LISTEN {channel}")
                    failures = 0
                    self._wake_all()
                    self._listen(connection)
            except psycopg.Error as error:
                failures += 1
                log.warning("not listening", action="reconnect", error=first_line(error))
                self._stopping.wait(full_jitter(failures, first=0.2, cap=5.0))

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        while not self._stopping.is_set():
            heard = False
            for notification in connection.notifies(timeout=SILENCE, stop_after=1):
                heard = True
                call = self._on_wake.get(notification.channel)
                if call is not None:
                    call()
            if not heard:
                connection.execute("SELECT 1")

    def _wake_all(self) -> None:
        for call in self._on_wake.values():
            call()
