"""Where an order or a step truly stands: a label for the console's pill, a few words for a table, a sentence."""

from collections.abc import Callable, Mapping
from datetime import datetime

from orders.selectors.desk.standing import Standing, StandingKind
from orders.wording.state_labels import Pill
from orders.wording.units import short_duration, time_left

STANDINGS: Mapping[str, Pill] = {
    StandingKind.COMPENSATION_FAILED: Pill("bad", "error", "cancellation failed"),
    StandingKind.ERROR: Pill("bad", "error", "error"),
    StandingKind.OVERDUE: Pill("bad", "warning", "overdue"),
    StandingKind.AT_RISK: Pill("warn", "warning", "at risk"),
    StandingKind.CUSTOMER: Pill("warn", "person", "waiting for customer"),
    StandingKind.DECISION: Pill("warn", "person", "waiting for a decision"),
    StandingKind.PAUSED: Pill("warn", "pause", "paused"),
    StandingKind.EXTENDED_WAIT: Pill("warn", "retry", "long wait before a retry"),
    StandingKind.RETRYING: Pill("warn", "retry", "retrying"),
    StandingKind.AGENT: Pill("idle", "clock", "waiting for agent"),
    StandingKind.SETTLING: Pill("idle", "clock", "waiting for a call to settle"),
    StandingKind.ANSWER: Pill("idle", "clock", "waiting for an answer"),
    StandingKind.DELAY: Pill("idle", "clock", "waiting for its time"),
    StandingKind.RUNNING: Pill("busy", "running", "running"),
    StandingKind.SCHEDULER: Pill("idle", "clock", "waiting for a scheduler"),
    StandingKind.COMPENSATED: Pill("idle", "cross", "cancelled"),
    StandingKind.PROCESSED: Pill("good", "done", "processed"),
}

_SENTENCES: Mapping[str, str] = {
    StandingKind.COMPENSATION_FAILED: "Its cancellation failed at {agent}. An operator has to decide what to do.",
    StandingKind.ERROR: "It failed at {agent}. An operator has to decide what to do.",
    StandingKind.OVERDUE: "It has passed its complete-by time. The supervisor recovers it at its next sweep.",
    StandingKind.AT_RISK: "It will probably miss its complete-by time. Then it is tried again.",
    StandingKind.CUSTOMER: (
        "It is waiting for the customer, who can resolve what was refused at {agent}. There is nothing for you to do."
    ),
    StandingKind.DECISION: "It is waiting for somebody’s decision about {agent}.",
    StandingKind.PAUSED: "An operator has paused {agent} in all orders. It goes on once somebody resumes that step.",
    StandingKind.EXTENDED_WAIT: "{agent} failed several times, so the next attempt follows after a longer wait.",
    StandingKind.RETRYING: "A call to {agent} did not succeed. It is being retried automatically.",
    StandingKind.AGENT: "It is waiting until {agent} can take it. There is nothing for you to do here.",
    StandingKind.SETTLING: "It is waiting until an unanswered call can no longer take effect. {then}",
    StandingKind.ANSWER: "It is waiting for an answer to {agent}, which comes later. There is nothing for you to do.",
    StandingKind.DELAY: "It is waiting for a set time. There is nothing for you to do.",
    StandingKind.RUNNING: "It is being processed.",
    StandingKind.SCHEDULER: "It is waiting for a scheduler.",
    StandingKind.COMPENSATED: "It is cancelled: everything that can be reversed has been.",
    StandingKind.PROCESSED: "Every step is completed.",
}

_SENTENCES_OF_REVERSALS: Mapping[str, str] = {
    StandingKind.ERROR: "Reversing what may have been done failed at {agent}. An operator has to decide what to do.",
    StandingKind.RUNNING: "What {agent} may have done is being reversed. Then it is done again with the new values.",
    StandingKind.RETRYING: "Reversing what {agent} may have done did not succeed. It is being retried automatically.",
}
"""What differs for an order of which a step is reversed before it is done anew."""


_BEING_CANCELLED = "It is being cancelled."
_ENDED = (StandingKind.COMPENSATED, StandingKind.COMPENSATION_FAILED, StandingKind.ERROR)
_STANDS_OUT = (*_ENDED, StandingKind.OVERDUE, StandingKind.AT_RISK)
"""Where an order that is being cancelled stands, if that matters more than its cancellation."""
_OF_AN_AGENT = (StandingKind.EXTENDED_WAIT, StandingKind.AGENT, StandingKind.SETTLING)


def tries(standing: Standing) -> str:
    """Says which try is next or under way, and of how many: "2 of 3"."""
    return f"{standing.failures + 1} of {standing.limit}"


def sentence(standing: Standing) -> str:
    """Says what is being done about an order, and whether an operator has to act."""
    text = _SENTENCES[standing.kind]
    if standing.is_reversed_first:
        text = _SENTENCES_OF_REVERSALS.get(standing.kind, text)
    elif standing.compensating and standing.kind is StandingKind.RUNNING:
        text = _BEING_CANCELLED
    elif standing.compensating and standing.kind not in _ENDED:
        text = f"{_BEING_CANCELLED} {text}"
    if not standing.on:
        text = text.replace(" at {agent}", "").replace(" about {agent}", "").replace(" to {agent}", "")
    then = (
        "Then it is reversed."
        if standing.compensating or standing.is_reversed_first
        else f"Then {standing.on or 'the agent'} asks whether it was done, and repeats it if it was not."
    )
    return text.format(agent=standing.on or "An agent", then=then)


def meaning(kind: StandingKind) -> str:
    """Says what is being done about any order that stands there."""
    on = "its step" if kind is StandingKind.PAUSED else "its agent" if kind in _OF_AN_AGENT else ""
    text = sentence(Standing(kind=kind, on=on))
    return text[0].upper() + text[1:]


def standing_pill(standing: Standing) -> Pill:
    """The pill of where an order or a step stands. That it is being cancelled matters more than what it waits for."""
    if standing.compensating and standing.kind not in _STANDS_OUT:
        return Pill("warn", "cross", "being cancelled")
    if standing.is_reversed_first and standing.kind is StandingKind.RUNNING:
        return Pill("warn", "undo", "being reversed")
    return STANDINGS[standing.kind]._replace(label=standing_label(standing))


def beside_pill(standing: Standing) -> str:
    """What the pill of an order that is being cancelled does not say; empty for any other."""
    if not standing.compensating or standing.kind in (StandingKind.RUNNING, *_ENDED):
        return ""
    return "being cancelled" if standing.kind in _STANDS_OUT else standing_label(standing)


def standing_label(standing: Standing) -> str:
    """The label of the pill: "retrying", "waiting for carrier", "paused: create-shipment"."""
    label = STANDINGS[standing.kind].label
    if standing.kind is StandingKind.AGENT and standing.on:
        return f"waiting for {standing.on}"
    return f"{label}: {standing.on}" if standing.kind is StandingKind.PAUSED and standing.on else label


def summary(standing: Standing, *, now: datetime, code: str = "") -> str:
    """Says in a few words, for a table, where an order or a step stands. `code` is that of its open alert."""
    detail = _DETAILS.get(standing.kind, _no_detail)(standing, now)
    text = f"{standing_label(standing)}{detail}"
    if standing.is_reversed_first:
        text = _of_reversal(standing, text)
    if code and standing.kind in (StandingKind.ERROR, StandingKind.COMPENSATION_FAILED):
        text = f"{text}: {code}"
    if not standing.compensating or standing.kind in (
        StandingKind.COMPENSATED,
        StandingKind.COMPENSATION_FAILED,
    ):
        return text
    return "being cancelled" if standing.kind is StandingKind.RUNNING else f"being cancelled, {text}"


def _of_reversal(standing: Standing, text: str) -> str:
    """Says that what stands there is not the step itself but its reversal."""
    if standing.kind is StandingKind.ERROR:
        return "reversal failed"
    return "being reversed" if standing.kind is StandingKind.RUNNING else f"being reversed, {text}"


def _no_detail(standing: Standing, now: datetime) -> str:
    return ""


def _remaining(standing: Standing, now: datetime) -> str:
    return time_left((standing.until - now).total_seconds()) if standing.until else ""


def _until(standing: Standing, now: datetime) -> str:
    return f", {_remaining(standing, now)}"


def _while_it_lasts(standing: Standing, now: datetime) -> str:
    return _until(standing, now) if standing.until else ""


def _since(standing: Standing, now: datetime) -> str:
    return f", {short_duration((now - standing.since).total_seconds())}" if standing.since else ""


def _tries(standing: Standing) -> str:
    return f" ({tries(standing)})" if standing.failures else ""


def _overdue(standing: Standing, now: datetime) -> str:
    return f" by {short_duration((now - standing.until).total_seconds())}" if standing.until else ""


def _at_risk(standing: Standing, now: datetime) -> str:
    return f"{_tries(standing)}, {_remaining(standing, now)} left"


def _next(standing: Standing, now: datetime) -> str:
    return f", next in {_remaining(standing, now)}"


def _retrying(standing: Standing, now: datetime) -> str:
    if not standing.failures:
        return f" (attempt {standing.attempt})"
    remaining = _remaining(standing, now)
    return f" ({tries(standing)}, {f'next in {remaining}' if remaining else 'under way'})"


def _for_agent(standing: Standing, now: datetime) -> str:
    return f"{_tries(standing)}{'' if standing.until else _since(standing, now)}"


def _for_scheduler(standing: Standing, now: datetime) -> str:
    if standing.since is None and standing.until is not None and standing.until > now:
        return _next(standing, now)
    return _since(standing, now)


_DETAILS: Mapping[str, Callable[[Standing, datetime], str]] = {
    StandingKind.OVERDUE: _overdue,
    StandingKind.AT_RISK: _at_risk,
    StandingKind.CUSTOMER: _until,
    StandingKind.DECISION: _while_it_lasts,
    StandingKind.ANSWER: _while_it_lasts,
    StandingKind.DELAY: _while_it_lasts,
    StandingKind.PAUSED: _since,
    StandingKind.EXTENDED_WAIT: _next,
    StandingKind.RETRYING: _retrying,
    StandingKind.AGENT: _for_agent,
    StandingKind.SETTLING: _until,
    StandingKind.SCHEDULER: _for_scheduler,
}
