"""The count of an agent's calls by outcome and duration, which all its hosts keep together (`AgentTally`)."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from orders.engine.errors import Declined, Fault, Transient
from orders.engine.runtime.sql import recordset, run
from orders.models.figures import BUCKETS, LATENCY_BOUNDS
from orders.vocabulary import CallOutcome

TIMEOUT_CODES = frozenset({"no_answer", "timeout"})
"""The codes of a `Transient` that says that the answer did not come in time."""


@dataclass
class Histogram:
    """Calls by their duration. `seconds` is the sum."""

    buckets: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Counts one call."""
        self.buckets[bisect_left(LATENCY_BOUNDS, seconds)] += 1
        self.seconds += seconds

    def plus(self, other: "Histogram") -> "Histogram":
        """Both counted together."""
        pairs = zip(self.buckets, other.buckets, strict=True)
        return Histogram([calls + others for calls, others in pairs], self.seconds + other.seconds)


Calls = Mapping[CallOutcome, Histogram]


def outcome_of(fault: Fault) -> CallOutcome:
    """How a call ended that raised this."""
    if isinstance(fault, Declined):
        return CallOutcome.DECLINED
    if not isinstance(fault, Transient):
        return CallOutcome.NONTRANSIENT
    return CallOutcome.TIMEOUT if fault.code in TIMEOUT_CODES else CallOutcome.TRANSIENT


def add_calls(calls_by_agent: Mapping[str, Calls]) -> None:
    """Adds the calls of one host to what all hosts have counted.

    One statement, which takes the rows in the order of their names, so that hosts that write at once do not deadlock.
    """
    rows = [
        {
            "agent": agent,
            "outcome": outcome,
            "calls": sum(histogram.buckets),
            "buckets": histogram.buckets,
            "seconds": histogram.seconds,
        }
        for agent, calls in calls_by_agent.items()
        for outcome, histogram in calls.items()
    ]
    if not rows:
        return
    run(
        """
        INSERT INTO orders_agenttally AS tally (agent, outcome, calls, buckets, seconds)
        SELECT new.*
          FROM json_to_recordset(%s)
               AS new (agent text, outcome text, calls bigint, buckets bigint[], seconds double precision)
         ORDER BY new.agent, new.outcome
            ON CONFLICT (agent, outcome) DO UPDATE
           SET calls = tally.calls + excluded.calls,
               buckets = (SELECT array_agg(pair.before + pair.added ORDER BY pair.place)
                            FROM unnest(tally.buckets, excluded.buckets)
                                 WITH ORDINALITY AS pair (before, added, place)),
               seconds = tally.seconds + excluded.seconds
        """,
        [recordset(rows)],
    )
