"""Agents that a person has paused, forced or limited, and who did it and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from orders.models import Circuit
from orders.selectors.desk.last_acts import LastAct, last_acts

PAUSE, FORCE, LIMIT = "pause agent", "force circuit", "limit agent"
"""The acts in the audit log that hold an agent."""


@dataclass(frozen=True, kw_only=True)
class HeldAgent:
    """An agent that a person has paused or limited, or whose circuit a person has forced `until` a time.

    A pause and a limit have no end. `state` says which it is, as the rest of a sentence.
    """

    name: str
    state: str
    by: str
    reason: str
    until: datetime | None


def held_agents(*, now: datetime) -> list[HeldAgent]:
    """All of them, by name; an agent can be held in several ways. Two statements."""
    holds = [hold for row in Circuit.objects.order_by("agent") for hold in _holds(row, now)]
    last = last_acts((f"agent {row.agent}", act) for row, act, _, _ in holds)
    return [
        _held(row, state, until, last.get((f"agent {row.agent}", act)), is_limit=act == LIMIT)
        for row, act, state, until in holds
    ]


def _holds(row: Circuit, now: datetime) -> Iterator[tuple[Circuit, str, str, datetime | None]]:
    if row.paused:
        yield row, PAUSE, "paused", None
    if row.forced and row.forced_until is not None and row.forced_until > now:
        yield row, FORCE, f"forced {row.forced}", row.forced_until
    limits = [
        *([f"{row.set_rate:g} calls a second"] if row.set_rate is not None else []),
        *([f"{row.set_capacity} at once"] if row.set_capacity is not None else []),
    ]
    if limits:
        yield row, LIMIT, f"limited to {' and '.join(limits)}", None


def _held(
    row: Circuit, state: str, until: datetime | None, last: LastAct | None, *, is_limit: bool
) -> HeldAgent:
    """The circuit keeps who held it last and why, unless that was a limit; the audit log tells the holds apart."""
    fallback = LastAct() if is_limit else LastAct(row.held_by, row.held_reason)
    by, reason = last or fallback
    return HeldAgent(name=row.agent, state=state, by=by, reason=reason, until=until)
