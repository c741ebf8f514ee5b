"""How the time of a cause ended, in words. Pure."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from django.utils.text import capfirst

from orders.selectors.desk.causes import Ending, OpenTime
from orders.selectors.desk.lately_ended import LatelyEnded
from orders.vocabulary import ActorKind, AlertKind
from orders.wording.alert_words import alert_heading, alert_text
from orders.wording.moments import minute, span
from orders.wording.order_edits import in_words
from orders.wording.units import counted, duration, number

MOST_ENDINGS = 4
"""How many ways in which orders of one cause ended are named."""
MOST_SHOWN = 160
"""The most characters of a line about a cause that is over."""
SYSTEM = [kind.value for kind in ActorKind if kind not in (ActorKind.CUSTOMER, ActorKind.OPERATOR)]


def author_of(closed_by: str) -> str:
    """Who closed an alert; empty if that was the system, whose part needs no name: "the circuit breaker", or a process
    such as "scheduler:4"."""
    kind, colon, _ = closed_by.partition(":")
    is_system = closed_by.startswith("the ") or (colon and kind in SYSTEM)
    return "" if is_system else closed_by


def resolution_in_words(how: str, closed_by: str) -> str:
    """How an alert was resolved, and by whom if that was a person: "resubmitted by olga"."""
    return _whose(how or "closed", author_of(closed_by))


def past_headline(text: str, last: OpenTime, *, today: date) -> str:
    """The heading of a cause that is over: "Carrier was down from 13:02 to 13:10"."""
    group = last.group
    if last.ended_at is None:
        return text
    lasted = f"from {span(last.began_at, last.ended_at, today=today)}"
    what = _what_was(group.kind, group.agent, group.code)
    return f"{what} {lasted}" if what else f"Over since {minute(last.ended_at, today=today)}: {text}"


def over_in_words(cause: LatelyEnded, *, today: date) -> str:
    """A cause that is over, in a line: "Carrier was down from 13:02 to 13:10 (8 min). 9 orders waited."."""
    seconds = (cause.ended_at - cause.began_at).total_seconds()
    lasted = f"from {span(cause.began_at, cause.ended_at, today=today)} ({duration(seconds)})"
    orders = f"{number(cause.orders)} or more orders" if cause.more else counted(cause.orders, "order")
    if what := _what_was(cause.kind, cause.agent, cause.code):
        waited = f" {orders} waited." if cause.kind == AlertKind.OUTAGE and cause.orders else ""
        return f"{what} {lasted}.{waited}"
    where = f" at {cause.agent}" if cause.agent else ""
    if AlertKind.are_about_orders(cause.kind):
        failed = f"{orders} failed{where} {lasted}: "
        rest = max(0, MOST_SHOWN - len(failed + alert_heading(cause.kind, "")))
        return failed + alert_heading(cause.kind, cause.pattern[:rest])
    return f"{capfirst(cause.pattern)}, {lasted}"[:MOST_SHOWN]


def what_was(group: Any) -> str:
    """A cause that is over, as a heading: "Carrier was down"; what it said itself if it was not about an agent."""
    return _what_was(group.kind, group.agent, group.code) or alert_text(group.kind, group.pattern)


def _what_was(kind: str, agent: str, code: str) -> str:
    """What was the matter with an agent; empty if the cause is about something else."""
    if code == "no_host":
        return f"No process ran {agent}"
    if kind == AlertKind.OUTAGE:
        return f"{capfirst(agent)} was down"
    return f"Orders that waited for {agent} were going to be late" if kind == AlertKind.LATE else ""


def ending_in_words(time: OpenTime) -> str:
    """What ended it: "resubmitted by olga", "5 resubmitted and 1 cancelled by olga", "the remote service answers
    again"; empty while it is open."""
    if time.ended_at is None:
        return ""
    endings = _by_people(time.endings)
    if len(endings) <= 1:
        return resolution_in_words(time.resolution, time.closed_by)
    named = endings[:MOST_ENDINGS]
    if len({ending.by for ending in endings}) == 1:
        parts = [f"{number(ending.orders)} {ending.resolution or 'closed'}" for ending in named]
        text = _whose(in_words(parts), named[0].by)
    else:
        text = in_words(
            [
                f"{number(ending.orders)} {_whose(ending.resolution or 'closed', ending.by)}"
                for ending in named
            ]
        )
    return f"{text}, and others" if len(endings) > MOST_ENDINGS else text


def _by_people(endings: Sequence[Ending]) -> list[Ending]:
    """The endings by what was done and who did it, with processes of the system as one."""
    sums: dict[tuple[str, str], int] = {}
    for ending in endings:
        key = (ending.resolution, author_of(ending.by))
        sums[key] = sums.get(key, 0) + ending.orders
    return [Ending(resolution, by, orders) for (resolution, by), orders in sums.items()]


def _whose(what: str, author: str) -> str:
    return f"{what} by {author}" if author else what
