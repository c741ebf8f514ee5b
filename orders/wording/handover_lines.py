"""The lines of a hand-over that its page and its text share: causes, bulk actions and priorities. Pure."""

from collections.abc import Mapping, Sequence
from datetime import date

from django.utils.text import capfirst

from orders.selectors.desk.at_risk import makes_orders_wait
from orders.selectors.desk.bulk import Progress
from orders.selectors.desk.causes import OpenTime
from orders.selectors.desk.handover import Handover, OpenCause
from orders.selectors.desk.priority_changes import PriorityChange
from orders.wording.alert_words import worth_in_words
from orders.wording.endings import ending_in_words
from orders.wording.moments import minute, span
from orders.wording.order_edits import in_words
from orders.wording.state_labels import BULK_KINDS, BULK_STATES, pill_of
from orders.wording.units import counted, duration, number

MOST_TIMES = 4
"""How many of the times of one cause are listed."""


def ended_lines(times: Sequence[OpenTime], *, today: date) -> list[str]:
    """The times of a cause that have ended, a line each: "13:02 to 13:10 (8 min), 9 orders waited, €351.00: the remote
    service answers again"."""
    lines = [_ended(time, today) for time in times[:MOST_TIMES]]
    if (rest := len(times) - MOST_TIMES) > 0:
        lines.append(f"{counted(rest, 'earlier time')}")
    return lines


def _ended(time: OpenTime, today: date) -> str:
    if time.ended_at is None or time.seconds is None:
        return f"since {minute(time.began_at, today=today)}, still open"
    lasted = f"{span(time.began_at, time.ended_at, today=today)} ({duration(time.seconds)})"
    parts = [lasted, *_orders_of(time), *_worth(time.money, more=time.more_money)]
    return f"{', '.join(parts)}: {ending_in_words(time)}"


def open_line(cause: OpenCause, *, today: date) -> str:
    """How large an open cause is, since when it is open, and who has it: "9 orders wait, €351.00, since 13:02, owner
    olga"."""
    parts = [
        *_still(cause),
        *_at_risk(cause),
        f"since {minute(cause.since, today=today)}",
        f"owner {cause.alerts.group.owner_name or 'nobody'}",
    ]
    if cause.alerts.acknowledged:
        parts.append(f"acknowledged by {cause.alerts.acknowledged_by}")
    if (snooze := cause.snooze) is not None:
        grown = f" or {snooze.most} open" if snooze.most else ""
        why = f" ({cause.snooze_reason})" if cause.snooze_reason else ""
        parts.append(f"snoozed by {snooze.by} until {minute(snooze.until, today=today)}{grown}{why}")
    return ", ".join(parts)


def _still(cause: OpenCause) -> list[str]:
    """How many orders are still hit, of how many: "2 of 3 orders", "9 orders wait"."""
    alerts, hit = cause.alerts, cause.time.orders if cause.time else 0
    if alerts.has_orders:
        orders = counted(max(hit, alerts.open), "order")
        return [orders if hit <= alerts.open else f"{number(alerts.open)} of {orders}"]
    if not (waiting := cause.at_risk.orders):
        return []
    more = " or more" if cause.at_risk.more else ""
    return [f"{number(waiting)}{more} {'order waits' if waiting == 1 and not more else 'orders wait'}"]


def _at_risk(cause: OpenCause) -> list[str]:
    """What is at risk, of how much if orders were helped already: "€30.00 of €70.00"."""
    now, time = _worth(cause.at_risk.money, more=cause.at_risk.more), cause.time
    if not (now and time and cause.alerts.has_orders and time.orders > cause.alerts.open):
        return now
    return [" of ".join([*now, *_worth(time.money, more=time.more_money)])]


def _orders_of(time: OpenTime) -> list[str]:
    waited = " waited" if makes_orders_wait(time.group.kind) else ""
    return [f"{counted(time.orders, 'order')}{waited}"] if time.orders else []


def _worth(sums: Mapping[str, int], *, more: bool) -> list[str]:
    return [text] if (text := worth_in_words(sums, more=more)) else []


def bulk_line(progress: Progress, *, today: date) -> str:
    """What a bulk action does, by whom, and how far it is: "Resubmit 7 orders, by olga at 13:20: finished, 5 went well,
    2 failed again"."""
    action = progress.action
    what = f"{BULK_KINDS.get(action.kind, action.kind)} {counted(action.total, 'order')}"
    state = pill_of(BULK_STATES, action.state).label
    parts = [
        state,
        *([f"{number(progress.well)} went well"] if progress.well else []),
        *([f"{number(progress.failed)} failed again"] if progress.failed else []),
        *([f"{number(progress.acted)} under way"] if progress.acted else []),
        *([f"{number(progress.waiting)} waiting"] if progress.waiting else []),
    ]
    began = minute(action.created_at, today=today)
    return f"{what}, by {action.by} at {began}: {', '.join(parts)}{_why(action.reason)}"


def priority_line(change: PriorityChange, *, today: date) -> str:
    """A change of priority: "from 5 to 9 by olga at 13:22 (a wedding)"."""
    at = minute(change.at, today=today)
    return f"from {change.before} to {change.after} by {change.by} at {at}{_why(change.reason)}"


def nothing_else(handover: Handover) -> str:
    """What there is none of, in one sentence; empty if there is something of everything."""
    absent = [
        *(["no bulk actions"] if not handover.actions else []),
        *(["no changes of priority"] if not handover.priority_changes else []),
        *(["no agents paused, forced or limited"] if not handover.agents else []),
        *(["no pauses"] if handover.pauses.is_empty and not handover.ended_pauses else []),
    ]
    if not absent:
        return ""
    return f"{capfirst(in_words(absent))}."


def _why(reason: str) -> str:
    return f" ({reason})" if reason else ""
