"""Where an order or a step truly stands: a label for the console's pill, a few words for a table, a sentence."""

from collections.abc import Callable, Mapping
from datetime import datetime

from orders.selectors.desk.standing import Standing, StandingKind
from orders.wording.states import Pill
from orders.wording.units import short_duration

STANDINGS: Mapping[str, Pill] = {
    StandingKind.COMPENSATION_FAILED: Pill("bad", "error", "compensation failed"),
    StandingKind.ERROR: Pill("bad", "error", "error"),
    StandingKind.OVERDUE: Pill("bad", "warning", "overdue"),
    StandingKind.AT_RISK: Pill("warn", "warning", "at risk"),
    StandingKind.CUSTOMER: Pill("warn", "person", "waiting for customer"),
    StandingKind.EXTENDED_WAIT: Pill("warn", "retry", "long wait before a retry"),
    StandingKind.RETRYING: Pill("warn", "retry", "retrying"),
    StandingKind.AGENT: Pill("idle", "clock", "waiting for agent"),
    StandingKind.SETTLING: Pill("idle", "clock", "waiting for a call to settle"),
    StandingKind.RUNNING: Pill("busy", "running", "running"),
    StandingKind.SCHEDULER: Pill("idle", "clock", "waiting for a scheduler"),
    StandingKind.COMPENSATED: Pill("idle", "undo", "compensated"),
    StandingKind.PROCESSED: Pill("good", "done", "processed"),
}

_SENTENCES: Mapping[str, str] = {
    StandingKind.COMPENSATION_FAILED: "Compensation failed at {agent}. An operator has to decide what to do.",
    StandingKind.ERROR: "It failed at {agent}. An operator has to decide what to do.",
    StandingKind.OVERDUE: "It has passed its complete-by time. The supervisor recovers it at its next sweep.",
    StandingKind.AT_RISK: "It will probably miss its complete-by time. Then it is tried again.",
    StandingKind.CUSTOMER: "It is waiting for the customer. There is nothing for you to do.",
    StandingKind.EXTENDED_WAIT: "{agent} failed several times, so the next try comes after a longer wait.",
    StandingKind.RETRYING: "{agent} did not answer in time. It is being retried automatically.",
    StandingKind.AGENT: "It is waiting until {agent} can take it. There is nothing for you to do here.",
    StandingKind.SETTLING: "It is waiting until an unanswered call can no longer take effect. Then it is compensated.",
    StandingKind.RUNNING: "It is being processed.",
    StandingKind.SCHEDULER: "It is waiting for a scheduler.",
    StandingKind.COMPENSATED: "Everything that it did has been compensated.",
    StandingKind.PROCESSED: "Every step is completed.",
}


def tries(stands: Standing) -> str:
    """Says which try is next or under way, and of how many: "2 of 3"."""
    return f"{stands.failures + 1} of {stands.limit}"


def sentence(stands: Standing) -> str:
    """Says what is being done about an order, and whether an operator has to act."""
    text = _SENTENCES[stands.kind]
    if not stands.on:
        text = text.replace(" at {agent}", "")
    return text.format(agent=stands.on or "An agent")


def summary(stands: Standing, *, now: datetime, code: str = "") -> str:
    """Says in a few words, for a table, where an order or a step stands. `code` is that of its open alert."""
    detail = _DETAILS.get(stands.kind, _no_detail)(stands, now)
    label = f"waiting for {stands.on}" if stands.kind is StandingKind.AGENT else STANDINGS[stands.kind].label
    text = f"{label}{detail}"
    if code and stands.kind in (StandingKind.ERROR, StandingKind.COMPENSATION_FAILED):
        text = f"{text}: {code}"
    if not stands.compensating or stands.kind in (StandingKind.COMPENSATED, StandingKind.COMPENSATION_FAILED):
        return text
    return "compensating" if stands.kind is StandingKind.RUNNING else f"compensating, {text}"


def _no_detail(stands: Standing, now: datetime) -> str:
    return ""


def _remaining(stands: Standing, now: datetime) -> str:
    return short_duration((stands.until - now).total_seconds()) if stands.until else ""


def _until(stands: Standing, now: datetime) -> str:
    return f", {_remaining(stands, now)}"


def _since(stands: Standing, now: datetime) -> str:
    return f", {short_duration((now - stands.since).total_seconds())}" if stands.since else ""


def _tries(stands: Standing) -> str:
    return f" ({tries(stands)})" if stands.failures else ""


def _overdue(stands: Standing, now: datetime) -> str:
    return f" by {short_duration((now - stands.until).total_seconds())}" if stands.until else ""


def _at_risk(stands: Standing, now: datetime) -> str:
    return f"{_tries(stands)}, {_remaining(stands, now)} left"


def _next(stands: Standing, now: datetime) -> str:
    return f", next in {_remaining(stands, now)}"


def _retrying(stands: Standing, now: datetime) -> str:
    if not stands.failures:
        return f" (attempt {stands.attempt})"
    remaining = _remaining(stands, now)
    return f" ({tries(stands)}, {f'next in {remaining}' if remaining else 'under way'})"


def _for_agent(stands: Standing, now: datetime) -> str:
    return f"{_tries(stands)}{'' if stands.until else _since(stands, now)}"


def _for_scheduler(stands: Standing, now: datetime) -> str:
    if stands.since is None and stands.until is not None and stands.until > now:
        return _next(stands, now)
    return _since(stands, now)


_DETAILS: Mapping[str, Callable[[Standing, datetime], str]] = {
    StandingKind.OVERDUE: _overdue,
    StandingKind.AT_RISK: _at_risk,
    StandingKind.CUSTOMER: _until,
    StandingKind.EXTENDED_WAIT: _next,
    StandingKind.RETRYING: _retrying,
    StandingKind.AGENT: _for_agent,
    StandingKind.SETTLING: _until,
    StandingKind.SCHEDULER: _for_scheduler,
}
