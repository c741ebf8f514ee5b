"""The periodic jobs, run by two django-q2 clusters: one for the supervisor and alerts, one for everything else.

Whatever the others do, however many they are and however long they take, a sweep and an alert always find a worker.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from django_q.tasks import async_task

from orders import retention, wiring
from orders.api.feed_views import change_bodies
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.errors import LeadershipLost
from orders.engine.role_health import RoleHealth
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.listener import Listener, connection_parameters
from orders.engine.runtime.sql import DATABASE_TROUBLE, drop_if_stuck, log_trouble, ran_out_of_time, run
from orders.engine.supervisor.role import Supervisor
from orders.outbox import queue
from orders.services import announcements, customer_terms, order_updates
from orders.services.operators import bulk_runner, erasure, notifications
from orders.tracing import spans
from orders.vocabulary import MessageChannel
from orders.webhooks.sender import Sender
from sasweb.launcher import jobs_cluster
from sasweb.launcher.jobs_cluster import is_stopping

log = structlog.get_logger()

GENERAL = str(settings.Q_CLUSTER["name"])
SUPERVISION = "supervision"
"""The two clusters. Supervision has workers of its own, which nothing else can take."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A periodic job: the cluster that runs it, how often it starts, and the names of those that start at once."""

    cluster: str
    minutes: int = 1
    first: Sequence[str] = ()


JOBS: Mapping[str, Job] = {
    "supervisor_shift": Job(
        cluster=SUPERVISION,
        # Two, so that from the start one can take over from the other.
        first=("first supervisor shift", "stand-by supervisor shift"),
    ),
    "alert_shift": Job(cluster=SUPERVISION, first=("first alert shift",)),
    "desk_shift": Job(cluster=GENERAL, first=("first desk shift",)),
    "outbox_shift": Job(cluster=GENERAL, first=("first outbox shift",)),
    "announcement_shift": Job(cluster=GENERAL, first=("first announcement shift",)),
    "webhook_shift": Job(cluster=GENERAL, first=("first webhook shift",)),
    "archive_orders": Job(cluster=GENERAL),
    "delete_old_records": Job(cluster=GENERAL, minutes=60),
    "continue_erasures": Job(cluster=GENERAL),
    "learn_customers": Job(cluster=GENERAL),
}
"""The jobs of this module, by the name of their function."""
OF_A_BUSINESS = "business: "
"""What the names of the schedules of businesses' jobs begin with. They run in the general cluster."""
SHIFT = 150.0
"""Seconds that a supervisor shift lasts: less than the cluster's timeout, and long enough that two always overlap."""
DESK_SHIFT = 110.0
"""Seconds that a desk shift lasts. One starts every minute, so at most two run at once."""
DESK_POLL = 0.5
"""Seconds between two passes over the bulk actions."""
ALERT_SHIFT = 110.0
"""Seconds that an alert shift lasts."""
ALERT_POLL = 1.0
"""Seconds between two looks for new alerts, and for messages about them that are due."""
GATHER = 2.0
"""Seconds that a group's first alert waits for others, so that the message about it counts them."""
OUTBOX_SHIFT = 110.0
"""Seconds that an outbox shift lasts. It is a separate job, so that a mail server that does not answer does not delay
a bulk action."""
OUTBOX_POLL = 1.0
"""Seconds between two passes over customers' emails."""
ANNOUNCEMENT_SHIFT = 110.0
"""Seconds that an announcement shift lasts. It is a separate job, since a business's receivers may take long."""
ANNOUNCEMENT_POLL = 0.5
"""Seconds between two looks for what businesses are to be told."""
WEBHOOK_SHIFT = 95.0
"""Seconds that a webhook shift begins calls. It is a separate job, and lasts as much longer as the last call does."""
WEBHOOK_POLL = 1.0
"""Seconds between two looks for what clients' webhooks are due, if nobody wakes the sender before."""


def prepare(cluster: str) -> None:
    """Schedules the periodic jobs of a cluster and queues the first shifts, which start without waiting for the
    schedule."""
    now = timezone.now()
    with transaction.atomic():
        # No constraint keeps two processes that start at the same time from adding the same schedule twice.
        run("LOCK TABLE django_q_schedule IN SHARE ROW EXCLUSIVE MODE")
        for function, job in _jobs_of(cluster).items():
            first_run = now + timedelta(minutes=1) if job.first else now
            _schedule(_schedule_name(function), f"orders.jobs.{function}", cluster, job.minutes, first_run)
        businesses_jobs = _businesses_jobs()
        if cluster == GENERAL:
            for name, (path, minutes) in businesses_jobs.items():
                _schedule(name, path, cluster, minutes, now)
        ours = Schedule.objects.filter(Q(func__startswith="orders.jobs.") | Q(name__startswith=OF_A_BUSINESS))
        ours.exclude(name__in=[*map(_schedule_name, JOBS), *businesses_jobs]).delete()
    # The queue may still hold shifts that were killed. New ones start below, and workers are few.
    OrmQ.objects.filter(key=cluster).delete()
    for function, job in _jobs_of(cluster).items():
        for name in job.first:
            async_task(f"orders.jobs.{function}", task_name=name, cluster=cluster)


def _jobs_of(cluster: str) -> Mapping[str, Job]:
    return {function: job for function, job in JOBS.items() if job.cluster == cluster}


def _businesses_jobs() -> Mapping[str, tuple[str, int]]:
    """The jobs that businesses declare, by the name of their schedule: the function, and how often it starts."""
    return {f"{OF_A_BUSINESS}{job.path}": (job.path, job.minutes) for job in wiring.periodic_jobs()}


def _schedule(name: str, function: str, cluster: str, minutes: int, first_run: datetime) -> None:
    Schedule.objects.update_or_create(
        name=name,
        defaults={
            "func": function,
            "cluster": cluster,
            "schedule_type": Schedule.MINUTES,
            "minutes": minutes,
            "repeats": -1,
            "next_run": first_run,
        },
    )


def _schedule_name(function: str) -> str:
    """The name of a job's schedule. A release before there were two clusters replaces those that it does not know by
    name, and would not run what is scheduled for another cluster."""
    cluster = JOBS[function].cluster
    return function if cluster == GENERAL else f"{cluster}: {function}"


def supervisor_shift(seconds: float = SHIFT) -> None:
    """Sweeps every SUPERVISOR_PERIOD while it leads, and otherwise stands by (V1, V6).

    django-q2 cannot start a job more than once a minute, so the job is a shift. One starts every minute, and two
    overlap: when the leader dies, the other takes over as soon as the lease lapses. A shift survives a lost connection.
    """
    supervisor = wiring.supervisor()
    period = settings.CONFIG.supervisor_period
    _work(lambda: _sweep_if_leading(supervisor), seconds=seconds, pause=period, health=supervisor.health)
    spans.flush()  # this worker may be killed, and may not
    _release(supervisor)  # but it stays on the list for a moment, so that its successor finds its alerts open


def desk_shift(seconds: float = DESK_SHIFT) -> None:
    """Carries out bulk actions. Two shifts at once share the work, and a killed one repeats nothing."""
    _work(bulk_runner.run_once, seconds=seconds, pause=DESK_POLL)


def alert_shift(seconds: float = ALERT_SHIFT) -> None:
    """Notifies operators of alerts (O1): posts messages about new ones, and sends what is due.

    Each channel has a thread of its own, so that a mail server that does not answer does not delay the webhook. Two
    shifts at once share the work.
    """
    with ThreadPoolExecutor(len(MessageChannel)) as pool:
        for thread in [pool.submit(_notify_by, channel, seconds) for channel in MessageChannel]:
            thread.result()


def _notify_by(channel: MessageChannel, seconds: float) -> None:
    def notify() -> None:
        notifications.notify_operators(gather=GATHER)
        queue.deliver_alerts(channel=channel)

    try:
        _work(notify, seconds=seconds, pause=ALERT_POLL)
    finally:
        connection.close()


def outbox_shift(seconds: float = OUTBOX_SHIFT) -> None:
    """Finds what customers are to be told of their orders, and sends their emails that are due in the outbox. Two
    shifts at once share the work."""

    def tell_customers() -> None:
        order_updates.post_updates()
        queue.deliver_customers_emails()

    _work(tell_customers, seconds=seconds, pause=OUTBOX_POLL)


def announcement_shift(seconds: float = ANNOUNCEMENT_SHIFT) -> None:
    """Tells businesses what has become of their orders. Two shifts at once share the work."""

    def announce() -> None:
        while announcements.announce_due() >= announcements.LIMIT and not is_stopping():
            """What is left of a burst is told without a pause."""

    _work(announce, seconds=seconds, pause=ANNOUNCEMENT_POLL)


def webhook_shift(seconds: float = WEBHOOK_SHIFT) -> None:
    """Posts to clients' webhooks what happens to their orders. Two shifts at once share the work.

    What happens wakes it. A message whose sender is killed is sent again.
    """
    with Sender(render=change_bodies, is_stopping=is_stopping) as sender:
        listener = Listener(parameters=connection_parameters(), on_wake={Topic.PROGRESS: sender.wake})
        listener.start()
        try:
            _work(sender.run_once, seconds=seconds, pause=WEBHOOK_POLL, rest=sender.rest)
        finally:
            listener.stop()


def _work(
    once: Callable[[], object],
    *,
    seconds: float,
    pause: float,
    health: RoleHealth | None = None,
    rest: Callable[[float], None] = jobs_cluster.rest,
) -> None:
    """Calls `once` with a pause after each call, for that many seconds or until the cluster stops. Reconnects to the
    database after losing the connection. `rest` pauses, and may end a pause early."""
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
            jobs_cluster.rest(full_jitter(failures, first=0.1, cap=2.0))
        else:
            rest(pause)


def _release(supervisor: Supervisor) -> None:
    """Gives up the lead. The connection may have died since the last sweep; a lease that cannot be given up lapses."""
    for _ in range(2):
        try:
            return supervisor.release()
        except DATABASE_TROUBLE:
            connection.close()


def archive_orders() -> None:
    """Moves finished orders to the archive."""
    retention.archive_orders()


def delete_old_records() -> None:
    """Deletes records that are past their time."""
    retention.delete_old_records()


def continue_erasures() -> None:
    """Goes on with the erasures whose process has died."""
    retention.run_parts("continue_erasures", {"erasures": erasure.continue_erasures})


def learn_customers() -> None:
    """Learns by which parts of their emails and by which names operators find the customers of new orders."""
    retention.run_parts("learn_customers", {"customers": customer_terms.learn_customers})


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
        wake(Topic.PROGRESS)  # not the supervisor itself, which touches no channel
        log.info("swept", action="sweep", **counts.done)
