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
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.sql import DATABASE_TROUBLE
from orders.engine.supervisor.role import Supervisor
from orders.mail import outbox
from orders.services.operators import bulk_runner, notifications
from sasweb.launcher.jobs_cluster import is_stopping

log = structlog.get_logger()

EVERY_MINUTES = {
    "supervisor_shift": 1,
    "desk_shift": 1,
    "outbox_shift": 1,
    "notify_operators": 1,
    "delete_what_is_old": 60,
}
"""The jobs of this module, and how often each is started."""
SHIFT = 150.0
"""Seconds that one supervisor job lasts. Less than the cluster's timeout, more than two of its schedules apart."""
DESK_SHIFT = 110.0
"""Seconds that one job of the operators' desk lasts: less than two of its schedules apart, so at most two are alive."""
DESK_POLL = 0.5
"""Seconds between two looks at the bulk actions."""
OUTBOX_SHIFT = 110.0
"""Seconds that one job of the outbox lasts. It is a job of its own: a mail server that does not answer delays neither
a sweep nor a bulk action."""
OUTBOX_POLL = 1.0
"""Seconds between two looks at the outbox."""


def prepare() -> None:
    """Enters the periodic jobs into the cluster's schedule, and has shifts start without waiting for it.

    Two supervisors, so that from the first moment there is one to take over from the other.
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
    # A shift that was killed would come again; new ones are started here anyway, and workers are few.
    OrmQ.objects.filter(key=settings.Q_CLUSTER["name"]).delete()
    for name in ("first supervisor shift", "stand-by supervisor shift"):
        async_task("orders.jobs.supervisor_shift", task_name=name)
    async_task("orders.jobs.desk_shift", task_name="first desk shift")
    async_task("orders.jobs.outbox_shift", task_name="first outbox shift")


def supervisor_shift(seconds: float = SHIFT) -> None:
    """Sweeps every SUPERVISOR_PERIOD while this job leads, and otherwise stands by (V1, V6).

    django-q2 cannot start a job more often than once a minute, so the job is a shift. One starts every minute, two are
    alive, and when the leader dies the other takes over as soon as the lease lapses. It survives a lost connection.
    """
    supervisor = wiring.supervisor()
    _work(lambda: _sweep_if_leading(supervisor), seconds=seconds, pause=settings.CONFIG.supervisor_period)
    _release(supervisor)


def desk_shift(seconds: float = DESK_SHIFT) -> None:
    """Carries bulk actions out. Two shifts at once share the work; one that is killed repeats nothing."""
    _work(bulk_runner.run_once, seconds=seconds, pause=DESK_POLL)


def outbox_shift(seconds: float = OUTBOX_SHIFT) -> None:
    """Sends what is due in the outbox. Two shifts at once share the work."""
    _work(outbox.deliver_due, seconds=seconds, pause=OUTBOX_POLL)


def _work(once: Callable[[], object], *, seconds: float, pause: float) -> None:
    """Does it again and again, with pauses, for so many seconds or until the cluster stops. A lost connection is made
    anew."""
    ends = time.monotonic() + seconds
    failures = 0
    while time.monotonic() < ends and not is_stopping():
        try:
            once()
            failures = 0
        except DATABASE_TROUBLE as error:
            failures += 1
            log.warning("database unavailable", action="retry", error=str(error).strip().split("\n")[0])
            connection.close()
            time.sleep(full_jitter(failures, first=0.1, cap=2.0))
        else:
            time.sleep(pause)


def _release(supervisor: Supervisor) -> None:
    """Gives up the lead. The connection may have died since the last sweep; what cannot be given up lapses."""
    for _ in range(2):
        try:
            return supervisor.release()
        except DATABASE_TROUBLE:
            connection.close()


def notify_operators() -> None:
    """Posts messages about the alerts that nobody has been told of (O1)."""
    notifications.notify_operators()


def delete_what_is_old() -> None:
    """Deletes what has passed its time."""
    retention.delete_what_is_old()


def _sweep_if_leading(supervisor: Supervisor) -> None:
    if not supervisor.acquire():
        return
    try:
        counts = supervisor.run_once()
    except LeadershipLost as error:
        log.warning("leadership lost", action="stand_by", error=str(error))
        return
    if counts.done.get("found"):
        log.info("swept", action="sweep", **counts.done)
