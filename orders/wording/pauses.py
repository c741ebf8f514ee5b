"""What is paused, by whom and why, in sentences. Pure."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime

from orders.selectors.desk.agent_waits import AgentWait
from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.ended_pauses import EndedPause, PausedKind
from orders.selectors.desk.pauses import Pauses
from orders.vocabulary import CircuitState
from orders.wording.moments import span
from orders.wording.units import counted, duration, number

ACCEPTED_AGAIN = "until somebody accepts them again"
"""How a pause of new orders ends that has no end of its own."""


def until_in_words(until: datetime | None, *, otherwise: str = "until it is resumed") -> str:
    """Until when a pause lasts: "until 14:30 UTC on 26 November", or `otherwise` if it has no end of its own."""
    return f"until {until:%H:%M} UTC on {until.day} {until:%B}" if until else otherwise


def lasts_in_words(minutes: int | None, until: datetime | None) -> str:
    """How long new orders will be refused: "for 1 hour", or as `until_in_words` says it."""
    if not minutes:
        return until_in_words(until, otherwise=ACCEPTED_AGAIN)
    return f"for {counted(minutes, 'minute') if minutes % 60 else counted(minutes // 60, 'hour')}"


def ends_in_words(until: datetime | None) -> str:
    """How a pause ends, as a sentence."""
    if until is None:
        return "The pause ends when somebody resumes it."
    return f"The pause ends by itself at {until:%H:%M} UTC on {until.day} {until:%B}."


def agent_wait_in_words(wait: AgentWait) -> str:
    """Which orders wait at a step for its agent, without the full stop: "3 orders wait at it for carrier, which is
    down"."""
    orders, verb = counted(wait.orders, "order", most=MOST_COUNTED), "waits" if wait.orders == 1 else "wait"
    trouble = _trouble(wait.agent)
    agent = f"{wait.agent.name}, {trouble}" if trouble else f"a free place at {wait.agent.name}"
    return f"{orders} {verb} at it for {agent}"


def _trouble(agent: AgentStatus) -> str:
    """Why an agent takes no calls; empty if it takes them."""
    if agent.circuit.paused:
        return "which is paused"
    if agent.is_down:
        return "which no process runs"
    return "" if agent.state == CircuitState.CLOSED else "which is down"


def pause_lines(pauses: Pauses) -> list[str]:
    """What is paused, a line each, as plain text."""
    return list(_lines(pauses))


def ended_pause_lines(pauses: Sequence[EndedPause], *, today: date) -> list[str]:
    """The pauses that have ended, a line each, as plain text."""
    return [_ended(pause, today) for pause in pauses]


def _ended(pause: EndedPause, today: date) -> str:
    if pause.kind is PausedKind.INTAKE:
        thing, verb = "new orders", "refused"
    else:
        name = f"{pause.step} of {pause.workflow}" if pause.kind is PausedKind.STEP else pause.name
        thing, verb = f"{pause.kind} {name}", "paused"
    lasted = f"{span(pause.at, pause.ended_at, today=today)} ({duration(pause.seconds)})"
    end = f"ended by {pause.ended_by}" if pause.ended_by else "ended by itself"
    return f"{thing}: {verb} by {pause.by}, {lasted}, {end}{f' ({pause.reason})' if pause.reason else ''}"


def _lines(pauses: Pauses) -> Iterator[str]:
    if pause := pauses.intake:
        author = _who(pause.by, pause.at, pause.until, pause.reason, otherwise=ACCEPTED_AGAIN)
        yield f"new orders: refused {author}"
    for step in pauses.steps:
        waiting = counted(step.orders, "order", most=MOST_COUNTED)
        wait = "waits" if step.orders == 1 else "wait"
        author = _who(step.by, step.at, step.until, step.reason)
        yield f"step {step.step} of {step.workflow}: paused {author}; {waiting} {wait} there"
    for order in pauses.first_orders:
        yield f"order {order.order_id}: paused {_who(order.by, order.at, order.until, order.reason)}"
    if (rest := pauses.orders - len(pauses.first_orders)) > 0:
        yield f"{number(rest)} more orders"


def _who(
    by: str,
    at: datetime,
    until: datetime | None,
    reason: str,
    *,
    otherwise: str = "until somebody resumes it",
) -> str:
    ends = f"until {until:%Y-%m-%d %H:%M}" if until else otherwise
    return f"by {by or 'nobody named'} since {at:%Y-%m-%d %H:%M}, {ends}{f' ({reason})' if reason else ''}"
