"""What an order waited for, in words: where its time went."""

from collections.abc import Mapping
from dataclasses import dataclass

from orders.selectors.desk.history import Cause, TimeSpent, Wait
from orders.wording.units import counted, duration

CAUSES: Mapping[str, str] = {
    Cause.QUEUE: "the submission queue",
    Cause.SCHEDULER: "a scheduler",
    Cause.AGENTS: "agents and their calls",
    Cause.COMPLETE_BY: "a complete-by time, after the agent gave up",
    Cause.UNAVAILABLE: "an unavailable agent",
    Cause.BACKOFF: "backoff before the next try",
    Cause.CUSTOMER: "the customer",
    Cause.OPERATOR: "an operator",
    Cause.OUTSIDE: "a decision, an event, a time or a later answer",
    Cause.SETTLING: "unanswered calls to settle",
}


def wait_words(wait: Wait) -> str:
    """Says what an order was waiting for, and for which agents or steps."""
    if wait.cause is Cause.AGENTS:
        return wait.on
    return f"{CAUSES[wait.cause]}{f' ({wait.on})' if wait.on else ''}"


@dataclass(frozen=True, kw_only=True)
class SpentRow:
    """Part of an order's time: what it waited for, how long, and which share of its whole time that is. `parts` says
    how the time of the agents is made up."""

    cause: str
    parts: str
    seconds: float
    percent: int


def spent_rows(spent: TimeSpent) -> list[SpentRow]:
    """What an order waited for, the longest first."""
    return [
        SpentRow(
            cause=CAUSES[cause],
            parts=_parts(spent) if cause == Cause.AGENTS else "",
            seconds=seconds,
            percent=round(100 * seconds / (spent.total or 1)),
        )
        for cause, seconds in spent.by_cause.items()
    ]


def _parts(spent: TimeSpent) -> str:
    agents = ", ".join(
        f"{agent} {duration(seconds)}" for agent, seconds in spent.by_agent.items() if seconds >= 0.001
    )
    if not spent.failed_calls:
        return agents
    took = duration(spent.failed_call_seconds)
    return f"{agents}; {counted(spent.failed_calls, 'failed call')} took {took}"
