"""Every time that a cause was open: since when until when, how many orders it hit, what they are worth, how it ended.

A time begins with an alert of its group and ends when none has been open for `PAUSE`: a resubmission that fails again
is the same time. Each outage is a time of its own, as long as its one alert is open, and so is each time that orders
were going to be late: between two of them nothing was the matter. It is worked out from the group's
alerts, the newest of each group and so many at most, so nothing is stored that could contradict them; of orders
that are archived, their alerts are gone. Each statement goes through an index or the primary key of orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch, recordset
from orders.models import AlertGroup
from orders.selectors.desk.at_risk import makes_orders_wait
from orders.selectors.desk.outage_orders import with_waiting_orders
from orders.vocabulary import AlertKind

PAUSE = timedelta(minutes=10)
"""How long no alert of a cause is open when it has ended."""
MOST_READ = 40_000
"""The alerts that are read in all."""
LEAST_READ = 500
"""The same for each group, however many there are."""
MOST_VALUED = 200
"""The orders of each time whose totals are added up."""
SHOWN = 50
AT_ONCE = (AlertKind.OUTAGE.value, AlertKind.LATE.value)
"""The kinds whose times are over as soon as their alert is closed, and are never joined."""

NUMBERED = """
    marked AS (
        SELECT *, opened_at > max(coalesce(closed_at, 'infinity')) OVER (
                      PARTITION BY group_id ORDER BY opened_at, id
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                    + CASE WHEN kind = ANY(%(at_once)s) THEN interval '0' ELSE %(pause)s END AS is_first
          FROM alerts
    ), numbered AS (
        SELECT *, count(*) FILTER (WHERE is_first) OVER (PARTITION BY group_id ORDER BY opened_at, id) AS number
          FROM marked
"""
"""Numbers the times of each group among the rows of `alerts`, with `at_once` (`AT_ONCE`) and `pause` (`PAUSE`)."""
_TIMES = f"""
    WITH chosen AS MATERIALIZED (
        SELECT g.id, g.kind
          FROM orders_alertgroup AS g
         WHERE CASE WHEN %(group)s::bigint IS NOT NULL THEN g.id = %(group)s::bigint
                    ELSE g.last_at >= %(since)s
                      OR EXISTS (SELECT FROM orders_alert AS a WHERE a.group_id = g.id AND a.closed_at IS NULL)
                      OR EXISTS (SELECT FROM orders_alert AS a
                                  WHERE a.group_id = g.id AND a.closed_at >= %(since)s) END
    ), alerts AS (
        SELECT c.id AS group_id, c.kind, a.*
          FROM chosen AS c
         CROSS JOIN LATERAL (
               (SELECT id, order_id, opened_at, closed_at, resolution, closed_by FROM orders_alert
                 WHERE group_id = c.id AND closed_at IS NULL ORDER BY opened_at DESC
                 LIMIT greatest(%(least)s, %(most)s / (SELECT count(*) FROM chosen)))
                UNION ALL
               (SELECT id, order_id, opened_at, closed_at, resolution, closed_by FROM orders_alert
                 WHERE group_id = c.id AND closed_at IS NOT NULL ORDER BY closed_at DESC
                 LIMIT greatest(%(least)s, %(most)s / (SELECT count(*) FROM chosen)))
         ) AS a
    ), {NUMBERED}
    ), times AS (
        SELECT group_id, number, min(opened_at) AS began,
               CASE WHEN count(*) = count(closed_at) THEN max(closed_at) END AS ended,
               count(*) AS alerts, count(DISTINCT order_id) AS orders,
               (array_agg(DISTINCT order_id) FILTER (WHERE order_id IS NOT NULL))[1:%(valued)s] AS order_ids,
               (array_agg(resolution ORDER BY closed_at DESC NULLS LAST))[1] AS resolution,
               (array_agg(closed_by ORDER BY closed_at DESC NULLS LAST))[1] AS closed_by
          FROM numbered GROUP BY group_id, number
    ), last_of_each AS (
        SELECT DISTINCT ON (group_id, number, order_id) group_id, number, resolution, closed_by
          FROM numbered WHERE closed_at IS NOT NULL
         ORDER BY group_id, number, order_id, closed_at DESC, id DESC
    ), endings AS (
        SELECT group_id, number,
               json_agg(json_build_array(resolution, closed_by, orders)
                        ORDER BY orders DESC, resolution, closed_by) AS endings
          FROM (SELECT group_id, number, resolution, closed_by, count(*) AS orders
                  FROM last_of_each GROUP BY group_id, number, resolution, closed_by) AS counted
         GROUP BY group_id, number
    )
    SELECT group_id, began, ended, alerts, orders, coalesce(order_ids, '{{}}'), resolution, closed_by,
           coalesce(endings, '[]'::json)
      FROM times
      LEFT JOIN endings USING (group_id, number)
     WHERE began < %(until)s AND coalesce(ended, 'infinity') >= %(since)s
       AND (%(before)s::timestamptz IS NULL OR (began, group_id) < (%(before)s::timestamptz, %(before_group)s::bigint))
     ORDER BY began DESC, group_id DESC LIMIT %(limit)s
"""
_TOTALS = """
    SELECT t.number, o.currency, sum(o.total)
      FROM json_to_recordset(%s::json) AS t(number int, ids uuid[])
      JOIN orders_order AS o ON o.id = ANY(t.ids)
     WHERE o.total IS NOT NULL
     GROUP BY t.number, o.currency ORDER BY t.number, o.currency
"""


class Ending(NamedTuple):
    """How the last alerts of so many orders of a cause were closed, and by whom; one of an outage has no order."""

    resolution: str
    by: str
    orders: int


@dataclass(frozen=True, kw_only=True)
class OpenTime:
    """One time that a cause was open. `ended_at` is None while it still is.

    `money` is by currency in minor units; with `more_money` not all of it, since there were too many orders.
    `order_ids` are the first of them; if it made orders wait for an agent, they are those that did. `resolution` and
    `closed_by` are those of the alert that was closed last, and `endings` those of each order, the most frequent first.
    """

    group: AlertGroup
    began_at: datetime
    ended_at: datetime | None
    alerts: int
    orders: int
    order_ids: Sequence[UUID]
    money: Mapping[str, int]
    resolution: str
    closed_by: str
    endings: Sequence[Ending]

    @property
    def more_money(self) -> bool:
        """Whether there are orders whose totals are not added up."""
        return self.orders > len(self.order_ids)

    @property
    def is_open(self) -> bool:
        """Whether it is open still."""
        return self.ended_at is None

    @property
    def seconds(self) -> float | None:
        """How long it was open; None while it still is."""
        return None if self.ended_at is None else (self.ended_at - self.began_at).total_seconds()


def open_times(
    *,
    since: datetime,
    until: datetime,
    group: AlertGroup | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int = SHOWN,
) -> list[OpenTime]:
    """The times that touch a range, of one group or of all, the last begun first, and one more than `limit`.

    With `before` those that began before that time and, at the same moment, have a smaller group. Four statements.
    """
    rows = fetch(
        _TIMES,
        {
            "group": group.pk if group else None,
            "since": since,
            "until": until,
            "least": LEAST_READ,
            "most": MOST_READ,
            "pause": PAUSE,
            "at_once": list(AT_ONCE),
            "valued": MOST_VALUED,
            "before": before[0] if before else None,
            "before_group": before[1] if before else None,
            "limit": limit + 1,
        },
    )
    groups = (
        {group.pk: group}
        if group
        else AlertGroup.objects.select_related("owner").in_bulk({row[0] for row in rows})
    )
    sized = with_waiting_orders(
        rows,
        agents={pk: group.agent for pk, group in groups.items() if makes_orders_wait(group.kind)},
        queues=[pk for pk, group in groups.items() if group.kind == AlertKind.LATE],
        until=until,
        most=MOST_READ,
        shown=MOST_VALUED,
    )
    money = _totals([row[5] for row in sized])
    names = ("began_at", "ended_at", "alerts", "orders", "order_ids", "resolution", "closed_by")
    return [
        OpenTime(
            group=groups[group_id],
            money=money.get(number, {}),
            endings=[Ending(*ending) for ending in endings],
            **dict(zip(names, row, strict=True)),
        )
        for number, (group_id, *row, endings) in enumerate(sized)
    ]


def _totals(orders: Sequence[Sequence[UUID]]) -> dict[int, dict[str, int]]:
    lists = [{"number": number, "ids": list(ids)} for number, ids in enumerate(orders) if ids]
    totals: dict[int, dict[str, int]] = {}
    if lists:
        for number, currency, total in fetch(_TOTALS, [recordset(lists)]):
            totals.setdefault(number, {})[currency] = int(total)
    return totals


@dataclass(frozen=True, kw_only=True)
class Before:
    """How often a cause was open in the last `DAYS` days before it began now, and the last of these times.

    `began_at` is when it began now; None if it is not open.
    """

    count: int
    last: OpenTime | None
    began_at: datetime | None


DAYS = 30
"""How far back the earlier times of one cause are counted and listed."""
WEEK = timedelta(days=7)


def week_before(until: datetime) -> datetime:
    """Where the history begins if nobody says."""
    return until - WEEK if until > datetime.min.replace(tzinfo=UTC) + WEEK else until


def earlier_times(group: AlertGroup, *, now: datetime) -> Before:
    """The times before the present one, or all if it is not open. Three statements."""
    times = open_times(since=now - timedelta(days=DAYS), until=now, group=group)
    closed = [each for each in times if not each.is_open]
    began_at = next((each.began_at for each in times if each.is_open), None)
    return Before(count=len(closed), last=closed[0] if closed else None, began_at=began_at)
