"""Pauses that have ended: who paused what, from when to when, and why, from the audit log.

A pause whose time is over leaves no entry of its end, so each pause is read with what came after it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Any, NamedTuple

from orders.engine.runtime.sql import fetch
from orders.models import Circuit
from orders.selectors.desk.pauses import steps_to_pause


class PausedKind(StrEnum):
    """What can be paused."""

    INTAKE = "intake"
    STEP = "step"
    AGENT = "agent"
    ORDER = "order"


PAUSES = {
    "pause intake": PausedKind.INTAKE,
    "pause step": PausedKind.STEP,
    "pause agent": PausedKind.AGENT,
    "pause": PausedKind.ORDER,
}
"""The acts in the audit log that pause something."""
ENDS = ("resume intake", "resume step", "resume agent", "resume", "compensate")
"""The acts that end a pause. Cancelling an order ends that of the order."""
OF_INTAKE = "intake of orders"
LOOKS_BACK = timedelta(days=7)
"""How long before the range a pause of an order is looked for that ended by itself."""
MOST_ENTRIES = 20_000
"""How many of the newest entries are searched for pauses of orders."""
MOST_ACTS = 100
"""How many acts are read of each thing that can be paused."""
SHOWN = 50

_ACTS = """
    WITH things AS (
        SELECT unnest(%(known)s::text[]) AS target
         UNION
        SELECT target
          FROM (SELECT target, act, allowed FROM orders_auditentry
                 WHERE at >= %(back)s ORDER BY at DESC LIMIT %(most)s) AS newest
         WHERE act IN ('pause', 'resume') AND allowed AND target LIKE 'order %%')
    SELECT e.target, e.at, e.act, e.actor, e.reason,
           coalesce(CASE e.act
                    WHEN 'pause agent' THEN e.after->>'paused' = 'true' AND e.before->>'paused' IS DISTINCT FROM 'true'
                    WHEN 'pause' THEN e.after ? 'paused_until'
                    ELSE e.act LIKE 'pause %%' AND e.after ? 'until' END, false),
           coalesce(e.after->>'paused_until', e.after->>'until')
      FROM things AS t
     CROSS JOIN LATERAL (
           SELECT target, at, act, actor, reason, before, after FROM orders_auditentry
            WHERE target = t.target AND act = ANY(%(acts)s::text[]) AND allowed
            ORDER BY at DESC LIMIT %(acts_each)s) AS e
     ORDER BY e.target, e.at
"""


@dataclass(frozen=True, kw_only=True)
class EndedPause:
    """A pause that lasted from `at` to `ended_at`. `kind` is what was paused, and `name` which: a step with its
    workflow ("bake-cake/mix"), an agent or an order; the intake has none.

    `ended_by` is empty if its time was over.
    """

    kind: PausedKind
    name: str
    at: datetime
    ended_at: datetime
    by: str
    reason: str
    ended_by: str

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return (self.ended_at - self.at).total_seconds()

    @property
    def workflow(self) -> str:
        """The workflow of a step; empty for all else."""
        return self.name.partition("/")[0] if self.kind is PausedKind.STEP else ""

    @property
    def step(self) -> str:
        """The name of a step; empty for all else."""
        return self.name.partition("/")[2] if self.kind is PausedKind.STEP else ""


class _Act(NamedTuple):
    """An entry of the audit log that pauses something or ends that. `begins` is whether it paused what was not paused
    before, and `until` when that pause ends by itself, if it does."""

    target: str
    at: datetime
    act: str
    actor: str
    reason: str
    begins: bool
    until: datetime | None


def ended_pauses(*, since: datetime, now: datetime) -> Sequence[EndedPause]:
    """The pauses that have ended in the range, the last first, `SHOWN` at most. Two statements.

    A pause of an order that began earlier than `LOOKS_BACK` before the range is left out if its time was over.
    """
    agents = [f"agent {name}" for name in Circuit.objects.values_list("agent", flat=True)]
    steps = [f"step {workflow}/{step}" for workflow, step, _ in steps_to_pause()]
    rows = fetch(
        _ACTS,
        {
            "known": [OF_INTAKE, *agents, *steps],
            "acts": [*PAUSES, *ENDS],
            "back": since - LOOKS_BACK,
            "most": MOST_ENTRIES,
            "acts_each": MOST_ACTS,
        },
    )
    ended = [
        pause
        for _, acts in groupby(map(_act, rows), key=lambda act: act.target)
        for pause in _pauses_of(acts, now)
        if since <= pause.ended_at <= now
    ]
    return sorted(ended, key=lambda pause: pause.ended_at, reverse=True)[:SHOWN]


def _act(row: Sequence[Any]) -> _Act:
    target, at, act, actor, reason, begins, until = row
    ends = datetime.fromisoformat(until) if until else None
    return _Act(target, at, act, actor, reason, begins, ends)


def _pauses_of(acts: Iterable[_Act], now: datetime) -> Iterator[EndedPause]:
    """The ended pauses of one thing, from its acts in the order of time."""
    begun: _Act | None = None
    for act in acts:
        if begun is not None and begun.until is not None and begun.until <= act.at:
            yield _ended(begun, begun.until, by="")
            begun = None
        if act.begins:
            begun = act
        elif begun is not None and act.act in ENDS:
            yield _ended(begun, act.at, by=act.actor)
            begun = None
    if begun is not None and begun.until is not None and begun.until <= now:
        yield _ended(begun, begun.until, by="")


def _ended(begun: _Act, at: datetime, *, by: str) -> EndedPause:
    kind = PAUSES[begun.act]
    return EndedPause(
        kind=kind,
        name="" if kind is PausedKind.INTAKE else begun.target.partition(" ")[2],
        at=begun.at,
        ended_at=at,
        by=begun.actor,
        reason=begun.reason,
        ended_by=by,
    )
