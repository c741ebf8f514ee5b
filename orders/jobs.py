"""The periodic jobs, run by the django-q2 cluster."""

import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import connection
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from django_q.tasks import async_task

from orders import retention, wiring
from orders.engine.errors import LeadershipLost
from orders.engine.role_health import RoleHealth
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.sql import DATABASE_TROUBLE, drop_if_stuck, log_trouble, ran_out_of_time
from orders.engine.supervisor.role import Supervisor
from orders.outbox import queue
from orders.services.operators import bulk_runner, erasure, notifications
from sasweb.launcher.jobs_cluster import is_stopping

log = structlog.get_logger()

EVERY_MINUTES = {
    "supervisor_shift": 1,
    "desk_shift": 1,
    "outbox_shift": 1,
    "notify_operators": 1,
    "archive_orders": 1,
    "delete_old_records": 60,
    "continue_erasures": 1,
}
"""The jobs of this module, and how often each starts."""
SHIFT = 150.0
"""Seconds that a supervisor shift lasts: less than the cluster's timeout, and long enough that two always overlap."""
DESK_SHIFT = 110.0
"""Seconds that a desk shift lasts. One starts every minute, so at most two run at once."""
DESK_POLL = 0.5
"""Seconds between two passes over the bulk actions."""
OUTBOX_SHIFT = 110.0
"""Seconds that an outbox shift lasts. It is a separate job, so that a mail server that does not answer delays neither
a sweep nor a bulk action."""
OUTBOX_POLL = 1.0
"""Seconds between two passes over the outbox."""


def prepare() -> None:
    """Schedules the periodic jobs and queues the first shifts, which start without waiting for the schedule.

    There are two supervisor shifts, so that from the start one can take over from the other.
    """
    for name, minutes in EVERY_MINUTES.items():
        Schedule.objects.update_or_create(
            name=name,
            defaults={
                "func": f"orders.jobs.{name}",
                "schedule_type": Schedule.MINUTES,
                "minutes": minutes,
                "repeats": -1,
                "next_run": timezone.now(),
            },
        )
    Schedule.objects.filter(func__startswith="orders.jobs.").exclude(name__in=EVERY_MINUTES).delete()
    # The queue may still hold shifts that were killed. New ones start below, and workers are few.
    OrmQ.objects.filter(key=settings.Q_CLUSTER["name"]).delete()
    for name in ("first supervisor shift", "stand-by supervisor shift"):
        async_task("orders.jobs.supervisor_shift", task_name=name)
    async_task("orders.jobs.desk_shift", task_name="first desk shift")
    async_task("orders.jobs.outbox_shift", task_name="first outbox shift")


def supervisor_shift(seconds: float = SHIFT) -> None:
    """Sweeps every SUPERVISOR_PERIOD while it leads, and otherwise stands by (V1, V6).

    django-q2 cannot start a job more than once a minute, so the job is a shift. One starts every minute, and two
    overlap: when the leader dies, the other takes over as soon as the lease lapses. A shift survives a lost connection.
    """
    supervisor = wiring.supervisor()
    period = settings.CONFIG.supervisor_period
    _work(lambda: _sweep_if_leading(supervisor), seconds=seconds, pause=period, health=supervisor.health)
    _release(supervisor)  # but it stays on the list for a moment, so that its successor finds its alerts open


def desk_shift(seconds: float = DESK_SHIFT) -> None:
    """Carries out bulk actions. Two shifts at once share the work, and a killed one repeats nothing."""
    _work(bulk_runner.run_once, seconds=seconds, pause=DESK_POLL)


def outbox_shift(seconds: float = OUTBOX_SHIFT) -> None:
    """Sends what is due in the outbox. Two shifts at once share the work."""
    _work(queue.deliver_due, seconds=seconds, pause=OUTBOX_POLL)


def _work(
    once: Callable[[], object], *, seconds: float, pause: float, health: RoleHealth | None = None
) -> None:
    """Calls `once` with a pause after each call, for that many seconds or until the cluster stops. Reconnects to the
    database after losing the connection."""
    ends = time.monotonic() + seconds
    failures = 0
    while time.monotonic() < ends and not is_stopping():
        began = time.monotonic()
        try:
            once()
            drop_if_stuck()
            failures = 0
        except DATABASE_TROUBLE as error:
            failures += 1
            is_slow = ran_out_of_time(error, time.monotonic() - began)
            log_trouble(error, is_slow=is_slow)
            connection.close()
            if health is not None:
                health.note_failure(error, is_slow=is_slow)
                health.beat()
            time.sleep(full_jitter(failures, first=0.1, cap=2.0))
        else:
            time.sleep(pause)


def _release(supervisor: Supervisor) -> None:
    """Gives up the lead. The connection may have died since the last sweep; a lease that cannot be given up lapses."""
    for _ in range(2):
        try:
            return supervisor.release()
        except DATABASE_TROUBLE:
            connection.close()


def notify_operators() -> None:
    """Posts messages about alerts that operators have not been notified of (O1)."""
    notifications.notify_operators()


def archive_orders() -> None:
    """Moves finished orders to the archive."""
    retention.archive_orders()


def delete_old_records() -> None:
    """Deletes records that are past their time."""
    retention.delete_old_records()


def continue_erasures() -> None:
    """Goes on with the erasures whose process has died."""
    retention.run_parts("continue_erasures", {"erasures": erasure.continue_erasures})


def _sweep_if_leading(supervisor: Supervisor) -> None:
    if not supervisor.acquire():
        supervisor.health.note_pass()
        return
    try:
        counts = supervisor.run_once()
    except LeadershipLost as error:
        log.warning("leadership lost", action="stand_by", error=str(error))
        return
    supervisor.health.note_pass()
    supervisor.health.beat()
    if counts.done.get("found"):
        log.info("swept", action="sweep", **counts.done)
