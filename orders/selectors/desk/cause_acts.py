"""What people did about a cause while it was open: to its group, its orders, an outage's agent, and in bulk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from orders.engine.runtime.sql import fetch, recordset
from orders.models import AlertGroup
from orders.selectors.desk.audit import act_in_words
from orders.selectors.desk.causes import DAYS, PAUSE, OpenTime, open_times
from orders.vocabulary import AlertKind

MOST_TIMES = 10
"""The times of one cause that are shown, the newest."""
MOST = 30
"""The acts that are read of each time, the newest."""

_BULK = """
    SELECT t.number, b.id,
           (SELECT count(*) FROM orders_bulkitem AS i
             WHERE i.action_id = b.id AND i.state IN ('done', 'nothing')),
           (SELECT count(*) FROM orders_bulkitem AS i WHERE i.action_id = b.id AND i.state = 'failed')
      FROM json_to_recordset(%s::json) AS t(number int, group_id bigint, began timestamptz, ended timestamptz)
      JOIN orders_bulkaction AS b ON b.group_id = t.group_id AND b.created_at BETWEEN t.began AND t.ended
     ORDER BY b.id
"""
_ACTS = """
    SELECT t.number, e.at, e.actor, e.act, e.target, e.result, e.reason
      FROM json_to_recordset(%(times)s::json) AS t(number int, targets text[], began timestamptz, ended timestamptz)
     CROSS JOIN LATERAL (
           SELECT of_target.*
             FROM unnest(t.targets) AS targets (target)
            CROSS JOIN LATERAL (
                  SELECT at, actor, act, target, result, reason, id FROM orders_auditentry AS entry
                   WHERE entry.target = targets.target AND at BETWEEN t.began AND t.ended AND allowed
                   ORDER BY at DESC LIMIT %(most)s
            ) AS of_target
            ORDER BY at DESC LIMIT %(most)s
     ) AS e
     ORDER BY t.number, e.at, e.id
"""
"""Target by target, by their index: among all that was done meanwhile there may be few acts on any of them."""


@dataclass(frozen=True, kw_only=True)
class CauseAct:
    """An act on a cause, on a bulk action on it, or on one of its orders. `outcome` is how a bulk action went."""

    at: datetime
    actor: str
    act: str
    target: str
    result: str
    reason: str
    outcome: str = ""


def acts_on(times: Sequence[OpenTime], *, now: datetime) -> list[Sequence[CauseAct]]:
    """The acts of each of these times, in their order, the earliest first. Two statements."""
    rows = [
        {
            "number": number,
            "group_id": time.group.pk,
            "began": time.began_at.isoformat(),
            "ended": (now if time.ended_at is None else time.ended_at + PAUSE).isoformat(),
        }
        for number, time in enumerate(times)
    ]
    if not rows:
        return []
    outcomes: dict[str, str] = {}
    bulk: dict[int, list[str]] = {}
    for number, action_id, well, failed in fetch(_BULK, [recordset(rows)]):
        outcomes[f"bulk {action_id}"] = f"{well:,} went well, {failed:,} failed again."
        bulk.setdefault(number, []).append(f"bulk {action_id}")
    for number, (row, time) in enumerate(zip(rows, times, strict=True)):
        orders = [f"order {order_id}" for order_id in time.order_ids]
        agent = [f"agent {time.group.agent}"] if time.group.kind == AlertKind.OUTAGE else []
        row["targets"] = [f"group {time.group.pk}", *agent, *bulk.get(number, ()), *orders]
    acts: list[list[CauseAct]] = [[] for _ in times]
    for number, *values in fetch(_ACTS, {"times": recordset(rows), "most": MOST}):
        names = ("at", "actor", "act", "target", "result", "reason")
        entry = CauseAct(**dict(zip(names, values, strict=True)))
        acts[number].append(replace(entry, act=act_in_words(entry.act)))
    return [_with_outcomes(each, outcomes) for each in acts]


def recent_times(group: AlertGroup, *, now: datetime) -> list[tuple[OpenTime, Sequence[CauseAct]]]:
    """The last times that a group was open, `MOST_TIMES` at most, each with its acts. Five statements."""
    times = open_times(since=now - timedelta(days=DAYS), until=now, group=group, limit=MOST_TIMES)[
        :MOST_TIMES
    ]
    return list(zip(times, acts_on(times, now=now), strict=True))


def _with_outcomes(acts: Sequence[CauseAct], outcomes: dict[str, str]) -> list[CauseAct]:
    """The acts, with how a bulk action went on the act that began it."""
    targets = set()
    shown = []
    for each in acts:
        is_first = each.target not in targets
        targets.add(each.target)
        shown.append(replace(each, outcome=outcomes.get(each.target, "")) if is_first else each)
    return shown
