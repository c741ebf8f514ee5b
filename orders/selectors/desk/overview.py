"""The figures of the overview, which answer whether everything is all right. Each is fast with a million orders
stored.

Orders under way and in Error are counted exactly. Finished orders are counted for the last 24 hours, by the index of
when they finished. Whatever has no natural limit is counted up to a bound and shown as "10,000+".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orders.business.intake_pause import read_pause
from orders.engine.runtime.sql import fetch
from orders.models import IntakePause, SubmissionMessage
from orders.selectors.desk.alert_groups import OpenAlerts, open_groups
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.desk.figures import last_hour
from orders.selectors.desk.pauses import PausedStep, count_paused_orders, paused_steps
from orders.selectors.desk.set_aside import count_set_aside
from orders.vocabulary import ProcessState

MINUTES = 10
"""The minutes over which the orders processed per minute are averaged."""
MOST_A_MINUTE = 50_000
MOST_A_DAY = 200_000
TOP_GROUPS = 5
READY_EXAMINED = 20
"""How many of the oldest orders of each priority are examined for how long they have waited for a scheduler."""


@dataclass(frozen=True, kw_only=True)
class TimeToDone:
    """Seconds from placing an order to Processed, over the `sample` orders that were processed in the last hour or have
    not ended. An order that has waited for ten minutes counts as ten minutes."""

    sample: int
    p50: float | None
    p95: float | None


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What the overview shows of orders. `oldest_*` are ages in seconds, None when there is none.

    `oldest_pending` is the age of the oldest order that waits, for whatever reason; `oldest_ready` is the longest time
    that an order has waited only for a scheduler. `processed` and `compensated` are of the last 24 hours.
    `per_minute` is how many were processed in each of the last ten minutes, on average. `intake_pause` says that new
    orders are refused, and `paused_orders` and `paused_steps` what else operators hold back.
    """

    pending: int
    processing: int
    error: int
    processed: int
    compensated: int
    oldest_pending: float | None
    oldest_ready: float | None
    queued: int
    oldest_queued: float | None
    set_aside: int
    per_minute: float
    done: TimeToDone
    groups: Sequence[OpenAlerts]
    intake_pause: IntakePause | None = None
    paused_orders: int = 0
    paused_steps: Sequence[PausedStep] = ()


def overview(*, now: datetime) -> Overview:
    """The figures of the overview. Fifteen statements, each by an index."""
    counts = recent_counts(now=now, within=timedelta(hours=24))
    return Overview(
        pending=counts[ProcessState.PENDING],
        processing=counts[ProcessState.PROCESSING],
        error=counts[ProcessState.ERROR],
        processed=counts[ProcessState.PROCESSED],
        compensated=counts[ProcessState.COMPENSATED],
        oldest_pending=_age(_oldest_pending(), now),
        oldest_ready=_age(oldest_ready(now), now),
        queued=count_queued(),
        oldest_queued=_age(_oldest_queued(), now),
        set_aside=count_set_aside(),
        per_minute=_per_minute(now),
        done=_time_to_done(now),
        groups=_largest_groups(now),
        intake_pause=read_pause(),
        paused_orders=count_paused_orders(now=now),
        paused_steps=paused_steps(now=now),
    )


def recent_counts(*, now: datetime, within: timedelta) -> Mapping[str, int]:
    """Orders by state: all that are unfinished, and those finished `within` that time, `MOST_A_DAY` + 1 at most."""
    counts = dict.fromkeys(map(str, ProcessState), 0)
    counts |= dict(
        fetch(
            """
            SELECT process_state, count(*) FROM orders_orderprocess
             WHERE process_state IN ('pending', 'processing', 'error') GROUP BY process_state
            """
        )
    )
    finished = fetch(
        """
        SELECT process_state, count(*) FROM (
            SELECT process_state FROM orders_orderprocess
             WHERE finished_at > %s ORDER BY finished_at DESC LIMIT %s) AS finished
         WHERE process_state IN ('processed', 'compensated')
         GROUP BY process_state
        """,
        [now - within, MOST_A_DAY + 1],
    )
    return counts | dict(finished)


def count_queued() -> int:
    """How many submissions are on the submission queue, counted up to `MOST_COUNTED` + 1."""
    return bounded_count(SubmissionMessage.objects.all())


def _oldest_queued() -> datetime | None:
    return SubmissionMessage.objects.order_by("id").values_list("posted_at", flat=True).first()


def _age(at: datetime | None, now: datetime) -> float | None:
    return None if at is None else max(0.0, (now - at).total_seconds())


def _oldest_pending() -> datetime | None:
    """When the oldest waiting order was inserted."""
    rows = fetch(
        """
        SELECT created_at FROM orders_orderprocess
         WHERE process_state = 'pending' ORDER BY created_at LIMIT 1
        """
    )
    return rows[0][0] if rows else None


def oldest_ready(now: datetime) -> datetime | None:
    """Since when an order has waited for a scheduler: since its last event, or since its wait ended."""
    ((ready_at,),) = fetch(
        """
        SELECT least((SELECT min(greatest(p.created_at, e.at))
                        FROM generate_series(0, 9) AS of(priority)
                       CROSS JOIN LATERAL (
                             SELECT order_id, created_at FROM orders_orderprocess
                              WHERE process_state = 'pending' AND not_before IS NULL AND priority = of.priority
                              ORDER BY created_at LIMIT %s) AS p
                        LEFT JOIN LATERAL (
                             SELECT at FROM orders_event
                              WHERE order_id = p.order_id ORDER BY id DESC LIMIT 1) AS e ON true),
                     (SELECT not_before FROM orders_orderprocess
                       WHERE process_state IN ('pending', 'processing') AND process_state = 'pending'
                         AND not_before <= %s
                       ORDER BY not_before LIMIT 1))
        """,
        [READY_EXAMINED, now],
    )
    return ready_at if isinstance(ready_at, datetime) else None


def _per_minute(now: datetime) -> float:
    """The mean over the last `MINUTES` that have ended, each counted as `MOST_A_MINUTE` at most."""
    this = now.replace(second=0, microsecond=0)
    ((processed,),) = fetch(
        """
        SELECT count(*) FROM (SELECT 1 FROM orders_orderprocess
                               WHERE finished_at >= %s AND finished_at < %s AND process_state = 'processed'
                               LIMIT %s) AS few
        """,
        [this - timedelta(minutes=MINUTES), this, MOST_A_MINUTE * MINUTES],
    )
    return float(processed) / MINUTES


def _time_to_done(now: datetime) -> TimeToDone:
    """Over the orders that were processed in the last hour and those that still wait, or nothing if nothing of it was
    measured."""
    counts = last_hour(now=now)
    if counts is None:
        return TimeToDone(sample=0, p50=None, p95=None)
    return TimeToDone(sample=counts.measured, p50=counts.p50, p95=counts.p95)


def _largest_groups(now: datetime) -> list[OpenAlerts]:
    """The groups with the most open alerts, the largest first. Two queries."""
    return sorted(open_groups(now=now), key=lambda alerts: (-alerts.open, alerts.group.pk))[:TOP_GROUPS]
