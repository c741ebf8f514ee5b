"""The numbers of the overview: is it all right? Each is fast with a million orders stored.

Orders under way and in Error are counted exactly. Those that have ended are counted for the last 24 hours, by the index
of when they ended. What could be without limit is counted up to a bound, and shown as "10,000+".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from orders.engine.runtime.sql import fetch
from orders.selectors.desk.status_bar import MOST_COUNTED
from orders.vocabulary import ProcessState

MINUTES = 10
"""How many minutes back throughput is shown."""
MOST_A_MINUTE = 50_000
MOST_A_DAY = 200_000
SAMPLE = 2_000
"""How many of the newest processed orders the times to done are taken from."""
TOP_GROUPS = 5
READY_LOOKED_AT = 20
"""How many of the oldest orders of each priority are asked how long they have waited for a scheduler."""


@dataclass(frozen=True, kw_only=True)
class Minute:
    """The orders that were processed in the minute that began then."""

    began: datetime
    processed: int


@dataclass(frozen=True, kw_only=True)
class TimeToDone:
    """From the placing of an order to its end, in seconds, over `sample` orders of the last hour."""

    sample: int
    p50: float | None
    p95: float | None


@dataclass(frozen=True, kw_only=True)
class OpenGroup:
    """A group of alerts of which some are open."""

    group_id: int
    kind: str
    agent: str
    code: str
    pattern: str
    open: int
    last_at: datetime
    acknowledged: bool


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """What the overview shows of orders. `oldest_*` are in seconds, None when there is none.

    `oldest_pending` is the age of the oldest order that waits, for whatever it may be; `oldest_ready` for how long one
    has waited that waits for nothing but a scheduler.
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
    overdue: int
    minutes: Sequence[Minute]
    done: TimeToDone
    groups: Sequence[OpenGroup]

    @property
    def per_minute(self) -> float:
        """Orders processed a minute, over the minutes that are over."""
        whole = self.minutes[:-1]
        return sum(minute.processed for minute in whole) / len(whole)


def numbers(*, now: datetime) -> Numbers:
    """Reads the numbers. Nine statements, each by an index."""
    under_way = dict(
        fetch(
            """
            SELECT process_state, count(*) FROM orders_orderprocess
             WHERE process_state IN ('pending', 'processing', 'error') GROUP BY process_state
            """
        )
    )
    ended = dict(
        fetch(
            """
            SELECT process_state, count(*) FROM (
                SELECT process_state FROM orders_orderprocess
                 WHERE finished_at > %s ORDER BY finished_at DESC LIMIT %s) AS ended
             GROUP BY process_state
            """,
            [now - timedelta(hours=24), MOST_A_DAY + 1],
        )
    )
    queued, oldest_queued = fetch(
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM orders_submissionmessage LIMIT %s) AS few),
               (SELECT posted_at FROM orders_submissionmessage ORDER BY id LIMIT 1)
        """,
        [MOST_COUNTED + 1],
    )[0]
    return Numbers(
        pending=under_way.get(ProcessState.PENDING, 0),
        processing=under_way.get(ProcessState.PROCESSING, 0),
        error=under_way.get(ProcessState.ERROR, 0),
        processed=ended.get(ProcessState.PROCESSED, 0),
        compensated=ended.get(ProcessState.COMPENSATED, 0),
        oldest_pending=_age(_oldest_pending(), now),
        oldest_ready=_age(_oldest_ready(now), now),
        queued=queued,
        oldest_queued=_age(oldest_queued, now),
        set_aside=_bounded("orders_setaside WHERE replayed_at IS NULL"),
        overdue=_bounded("orders_stepstate WHERE complete_by <= %s", now),
        minutes=_minutes(now),
        done=_time_to_done(now),
        groups=_open_groups(),
    )


def _age(at: datetime | None, now: datetime) -> float | None:
    return None if at is None else max(0.0, (now - at).total_seconds())


def _oldest_pending() -> datetime | None:
    """When the oldest order that waits was inserted. Ids grow with time, so the index by state knows it."""
    rows = fetch(
        """
        SELECT created_at FROM orders_orderprocess
         WHERE process_state = 'pending' ORDER BY process_state, order_id LIMIT 1
        """
    )
    return rows[0][0] if rows else None


def _oldest_ready(now: datetime) -> datetime | None:
    """Since when an order waits for a scheduler: since its last event, or since what it waited for became due."""
    return fetch(
        """
        SELECT least((SELECT min(greatest(p.created_at, e.at))
                        FROM generate_series(0, 9) AS of(priority)
                       CROSS JOIN LATERAL (
                             SELECT order_id, created_at FROM orders_orderprocess
                              WHERE process_state = 'pending' AND not_before IS NULL AND priority = of.priority
                              ORDER BY order_id LIMIT %s) AS p
                        LEFT JOIN LATERAL (
                             SELECT at FROM orders_event
                              WHERE order_id = p.order_id ORDER BY id DESC LIMIT 1) AS e ON true),
                     (SELECT not_before FROM orders_orderprocess
                       WHERE process_state IN ('pending', 'processing') AND process_state = 'pending'
                         AND not_before <= %s
                       ORDER BY not_before LIMIT 1))
        """,
        [READY_LOOKED_AT, now],
    )[0][0]


def _bounded(source: str, *parameters: Any) -> int:
    statement = f"SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT %s) AS few"
    return int(fetch(statement, [*parameters, MOST_COUNTED + 1])[0][0])


def _minutes(now: datetime) -> list[Minute]:
    """The last minutes, oldest first; the last one is under way. Each is counted up to `MOST_A_MINUTE`."""
    this = now.replace(second=0, microsecond=0)
    begun = [this - timedelta(minutes=back) for back in range(MINUTES, -1, -1)]
    rows = fetch(
        """
        SELECT began, (SELECT count(*) FROM (
                           SELECT 1 FROM orders_orderprocess
                            WHERE finished_at >= began AND finished_at < began + interval '1 minute'
                              AND process_state = 'processed' LIMIT %s) AS few)
          FROM unnest(%s::timestamptz[]) AS began ORDER BY began
        """,
        [MOST_A_MINUTE + 1, begun],
    )
    return [Minute(began=began, processed=count) for began, count in rows]


def _time_to_done(now: datetime) -> TimeToDone:
    sample, p50, p95 = fetch(
        """
        SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY took),
               percentile_cont(0.95) WITHIN GROUP (ORDER BY took)
          FROM (SELECT extract(epoch FROM p.finished_at - o.placed_at)::float8 AS took
                  FROM (SELECT order_id, finished_at FROM orders_orderprocess
                         WHERE finished_at > %s AND process_state = 'processed'
                         ORDER BY finished_at DESC LIMIT %s) AS p
                  JOIN orders_order AS o ON o.id = p.order_id) AS newest
        """,
        [now - timedelta(hours=1), SAMPLE],
    )[0]
    return TimeToDone(sample=sample, p50=p50, p95=p95)


def _open_groups() -> list[OpenGroup]:
    """The groups with the most open alerts, the largest first."""
    rows = fetch(
        """
        SELECT g.id, g.kind, g.agent, g.code, g.pattern, a.open, a.last_at,
               coalesce(g.acknowledged_at >= a.first_at, false)
          FROM (SELECT group_id, count(*) AS open, min(opened_at) AS first_at, max(opened_at) AS last_at
                  FROM orders_alert
                 WHERE closed_at IS NULL GROUP BY group_id
                 ORDER BY count(*) DESC, group_id LIMIT %s) AS a
          JOIN orders_alertgroup AS g ON g.id = a.group_id
         ORDER BY a.open DESC, g.id
        """,
        [TOP_GROUPS],
    )
    names = ("group_id", "kind", "agent", "code", "pattern", "open", "last_at", "acknowledged")
    return [OpenGroup(**dict(zip(names, row, strict=True))) for row in rows]
