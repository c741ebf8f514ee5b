"""The look that each web process takes every few seconds at the rest of the system."""

import threading
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import connection, connections

from orders.engine.role_health import RoleHealth, Trouble
from orders.engine.runtime.loop import instance_id
from orders.engine.runtime.sql import DATABASE_TROUBLE
from orders.engine.runtime.text import first_line
from orders.outbox import queue
from orders.outbox.delivery import call_heartbeat
from orders.services.operators import notifications
from orders.vocabulary import AlertKind
from orders.watchdog.deadlines import DeadlineWatch
from orders.watchdog.disks import CODES, DiskWatch
from orders.watchdog.notices import Notice
from orders.watchdog.queues import QueueWatch
from orders.watchdog.vitals import LIMIT, Vitals, find_troubles, read_vitals
from sasweb.readiness import SYSTEM
from sasweb.shutdown import STOPPING

log = structlog.get_logger()

PERIOD = 10.0
"""Seconds between two looks. With the limit of 30 s, operators are told within 60."""
HANG = 10.0
"""Seconds without an answer after which the database counts as unavailable. Its server ends what takes over 5 s."""
HEARTBEAT = 30.0
"""Seconds between two calls of the heartbeat URL, at least."""
SILENT = "the database does not answer"
OUTAGES = {
    "53100": "the database has no room left",
    "25006": "the database takes no writes",
    "53300": "the database takes no more connections",
}
"""What an error says of the database, by its SQLSTATE."""


class Watch:
    """What one web process knows of the rest of the system."""

    def __init__(self, *, instance: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._outage = Notice("database", clock=clock)
        self._queues = QueueWatch(clock=clock)
        self._deadlines = DeadlineWatch(clock=clock)
        self._disks = DiskWatch(
            folder=settings.CONFIG.var_dir, database_room=settings.CONFIG.database_room, clock=clock
        )
        self._asked_at: float | None = None
        """Since when a look has been waiting for the database; None if none is."""
        self._contact_since: float | None = None
        """Since when the database has answered without a break. What is older may only mean that all was down."""
        self._heartbeat_at = float("-inf")
        self._troubles: list[Trouble] = []
        self._health = RoleHealth(role="web", instance=instance, troubles=lambda: self._troubles, clock=clock)

    def look(self) -> list[str]:
        """Looks once, tells operators of what is wrong, and returns what is wrong with the system itself, in lines."""
        try:
            problems = self._look_at_the_database()
        except DATABASE_TROUBLE as error:
            problems = [self._note_outage(error)]
        if not problems:
            self._outage.clear()
            if self._knows_enough():
                self._call_heartbeat()
        return problems

    def note_hang(self) -> list[str]:
        """Notes that a look gets no answer, if that is so, tells operators, and returns it, in a line.

        Called from another thread than `look`. A server that stands still, or whose disk does, keeps its connections,
        and a look that waits for it may never end.
        """
        asked_at = self._asked_at
        if asked_at is None or self._clock() - asked_at < HANG:
            return []
        self._lose_contact()
        log.warning("no look", action="look", problem=SILENT)
        self._outage.note(SILENT)
        return [SILENT]

    def forget(self) -> None:
        """Takes this process off the list of those that report."""
        self._health.forget()

    def _look_at_the_database(self) -> list[str]:
        if self._contact_since is None:
            self._contact_since = self._clock()
        self._asked_at = self._clock()
        try:
            vitals = self._read_and_report()
        finally:
            self._asked_at = None
        if vitals.late or self._troubles:  # do not wait for the jobs, which may be what has died
            notifications.notify_operators()
            queue.deliver_alerts()
        return [trouble.message for trouble in self._troubles if _is_a_fault(trouble)]

    def _read_and_report(self) -> Vitals:
        vitals = read_vitals()
        standstills, late_queues, full = self._queues.look(), self._deadlines.look(), self._disks.look()
        if self._knows_enough():  # before that, what was wrong before an outage counts as wrong still
            self._troubles = [*find_troubles(vitals), *standstills, *late_queues, *full]
        self._health.note_pass()
        self._health.beat()
        if self._health.failure is not None:
            raise self._health.failure
        return vitals

    def _knows_enough(self) -> bool:
        return self._contact_since is not None and self._clock() - self._contact_since >= LIMIT

    def _note_outage(self, error: Exception) -> str:
        self._lose_contact()
        problem = OUTAGES.get(getattr(error.__cause__, "sqlstate", None) or "", SILENT)
        log.warning("no look", action="look", problem=problem, error=first_line(error))
        self._outage.note(problem)
        return problem

    def _lose_contact(self) -> None:
        self._contact_since = None
        self._queues.forget()
        self._deadlines.forget()

    def _call_heartbeat(self) -> None:
        url = settings.CONFIG.heartbeat_url
        if url and self._clock() - self._heartbeat_at >= HEARTBEAT:
            self._heartbeat_at = self._clock()
            call_heartbeat(url)


def _is_a_fault(trouble: Trouble) -> bool:
    """Whether the system itself does not do its work. Orders that are late because a remote service is slow are no
    fault of its, and with a disk that is nearly full it works."""
    return trouble.kind is not AlertKind.LATE and trouble.code not in CODES


def start() -> None:
    """Starts the looks of this process, in threads that end with it."""
    if settings.CONFIG.watchdog:
        watch = Watch(instance=instance_id("web"))
        for name, work in (("watch", _run), ("hanging watch", _watch_for_hangs)):
            threading.Thread(target=work, args=[watch], name=name, daemon=True).start()


def _watch_for_hangs(watch: Watch) -> None:
    while not STOPPING.wait(PERIOD):
        if problems := watch.note_hang():
            SYSTEM.report(problems)


def _run(watch: Watch) -> None:
    """Looks until the process stops. Uses a connection of its own, so that a busy pool is no outage."""
    own = connections.create_connection("default")
    options = {name: value for name, value in own.settings_dict["OPTIONS"].items() if name != "pool"}
    own.settings_dict = {**own.settings_dict, "OPTIONS": options}
    connections["default"] = own
    while not STOPPING.wait(PERIOD):
        try:
            SYSTEM.report(watch.look())
        except Exception:  # the watch must outlive whatever it meets
            log.exception("look failed", action="look")
        finally:
            connection.close()
    watch.forget()
