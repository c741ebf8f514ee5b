"""What the operators' commands call things: where an order stands, and what happened to it."""

from collections.abc import Callable, Mapping
from datetime import datetime

from orders.selectors.desk.history import EventFacts, moment
from orders.selectors.desk.standing import Kind, Standing, Tries
from orders.wording.units import counted, duration, short_duration


def standing(stands: Standing, *, now: datetime, code: str = "") -> str:
    """Where an order or a step stands, in a few words."""
    left = short_duration((stands.until - now).total_seconds()) if stands.until else ""
    words = _STANDING[stands.kind](stands, left, now)
    if code and stands.kind in (Kind.ERROR, Kind.COMPENSATION_FAILED):
        words = f"{words}: {code}"
    if stands.undoing and stands.kind not in (Kind.COMPENSATED, Kind.COMPENSATION_FAILED):
        return "compensating" if stands.kind is Kind.RUNNING else f"compensating, {words}"
    return words


def _try(stands: Standing) -> str:
    return f"{stands.failures + 1} of {stands.limit}"


def _retrying(stands: Standing, left: str, now: datetime) -> str:
    if not stands.failures:
        return f"retrying (attempt {stands.attempt})"
    return f"retrying ({_try(stands)}, {f'next in {left}' if left else 'under way'})"


def _at_risk(stands: Standing, left: str, now: datetime) -> str:
    return f"at risk{f' ({_try(stands)})' if stands.failures else ''}, {left} left"


def _for_agent(stands: Standing, left: str, now: datetime) -> str:
    again = f" ({_try(stands)})" if stands.failures else ""
    waited = (
        f", {short_duration((now - stands.since).total_seconds())}"
        if stands.since and not stands.until
        else ""
    )
    return f"waiting for {stands.on}{again}{waited}"


def _for_scheduler(stands: Standing, left: str, now: datetime) -> str:
    if stands.since is not None:
        return f"waiting for a scheduler, {short_duration((now - stands.since).total_seconds())}"
    if stands.until is not None and stands.until > now:
        return f"waiting, next in {left}"
    return "waiting for a scheduler"


def _overdue(stands: Standing, left: str, now: datetime) -> str:
    return f"overdue by {short_duration((now - stands.until).total_seconds())}" if stands.until else "overdue"


_STANDING: Mapping[Kind, Callable[[Standing, str, datetime], str]] = {
    Kind.COMPENSATION_FAILED: lambda stands, left, now: "compensation failed",
    Kind.ERROR: lambda stands, left, now: "error",
    Kind.OVERDUE: _overdue,
    Kind.AT_RISK: _at_risk,
    Kind.CUSTOMER: lambda stands, left, now: f"waiting for customer, {left}",
    Kind.EXTENDED_WAIT: lambda stands, left, now: f"retrying (long wait, next in {left})",
    Kind.RETRYING: _retrying,
    Kind.AGENT: _for_agent,
    Kind.SETTLING: lambda stands, left, now: f"waiting for a call to settle, {left}",
    Kind.RUNNING: lambda stands, left, now: "running",
    Kind.SCHEDULER: _for_scheduler,
    Kind.COMPENSATED: lambda stands, left, now: "compensated",
    Kind.PROCESSED: lambda stands, left, now: "processed",
}


def event(happened: EventFacts, tries: Tries) -> str:
    """What happened, in words. A kind that this release does not know is shown by its name and details."""
    told = _EVENTS.get(happened.kind)
    if told is not None:
        return told(happened, tries)
    shown = ", ".join(f"{name} {value}" for name, value in happened.detail.items() if value is not None)
    return " ".join(filter(None, (happened.kind.replace("_", " "), happened.step))) + (
        f": {shown}" if shown else ""
    )


def _until(happened: EventFacts, name: str) -> str:
    """The time from an event to a moment that it names."""
    until = moment(happened.detail.get(name))
    return duration((until - happened.at).total_seconds()) if until else "a while"


def _calls(happened: EventFacts) -> str:
    calls = happened.detail.get("calls")
    return f", {counted(calls, 'call')}" if isinstance(calls, int) and calls > 1 else ""


def _error(happened: EventFacts) -> str:
    error = happened.detail.get("error")
    if not isinstance(error, dict):
        return str(happened.detail.get("reason", "unknown"))
    return ": ".join(str(error[name]) for name in ("code", "message") if error.get(name))


def _cause(happened: EventFacts) -> str:
    cause = happened.detail.get("cause")
    return str(cause.get("message", "unknown")) if isinstance(cause, dict) else "unknown"


def _received(happened: EventFacts, tries: Tries) -> str:
    posted, by = moment(happened.detail.get("posted_at")), happened.detail.get("by")
    waited = f", {duration((happened.at - posted).total_seconds())} after it was posted" if posted else ""
    return f"received{f' from {by}' if by else ''}{waited}"


def _timed_out(happened: EventFacts, tries: Tries) -> str:
    undoing = happened.kind == "undo_timed_out"
    limit = tries.undo if undoing else tries.forward
    what = f"undo of {happened.step}" if undoing else happened.step
    failures = happened.detail.get("failures", 0)
    ruling = {
        "retry": f"next try in {_until(happened, 'until')}",
        "wait": f"long wait, next try in {_until(happened, 'until')}",
        "undo": "the order is to be undone",
        "fail": "no more tries",
        "settle": "it will be undone once its call can no longer land",
    }.get(str(happened.detail.get("ruling")), "")
    counted = f"failure {failures}{f' of {limit}' if failures <= limit else ''}, " if failures else ""
    said = f"supervisor: {what}, no answer by complete-by"
    return f"{said}, {counted}{ruling} (attempt {happened.attempt})"


def _called(happened: EventFacts, tries: Tries) -> str:
    detail = happened.detail
    seconds = detail.get("seconds")
    took = f" ({duration(seconds)})" if isinstance(seconds, int | float) else ""
    said = f"{detail.get('code')}: {detail.get('message')}{took}"
    return f"call {detail.get('try', '?')} of {happened.step} failed: {said}"


def _resubmitted(happened: EventFacts, tries: Tries) -> str:
    what = f"step {happened.step}" if happened.step else "the order"
    return f"operator: resubmitted {what}{_because(happened, 'reason')}"


def _because(happened: EventFacts, name: str) -> str:
    why = happened.detail.get(name)
    return f": {why}" if why else ""


def _started(happened: EventFacts, tries: Tries) -> str:
    what = "undo of" if happened.kind == "undo_started" else "step"
    return f"{what} {happened.step} started, attempt {happened.attempt}"


_EVENTS: Mapping[str, Callable[[EventFacts, Tries], str]] = {
    "received": _received,
    "duplicate_ignored": lambda it, tries: "a second copy of the submission was ignored",
    "set_aside": lambda it, tries: f"set aside: {it.detail.get('reason')}",
    "replayed": lambda it, tries: "operator: the submission was put back on the queue",
    "claimed": lambda it, tries: "claimed by a scheduler",
    "step_started": _started,
    "undo_started": _started,
    "step_completed": lambda it, tries: f"step {it.step} completed{_calls(it)}",
    "step_compensated": lambda it, tries: f"step {it.step} undone{_calls(it)}",
    "step_refused": lambda it, tries: f"step {it.step} refused: {_error(it)}",
    "step_declined": lambda it, tries: (
        f"step {it.step} declined: {_error(it)}; the customer has {_until(it, 'waits_until')} to mend it"
    ),
    "step_failed": lambda it, tries: f"step {it.step} failed, outcome unknown: {_error(it)}",
    "undo_failed": lambda it, tries: f"undo of {it.step} failed: {_error(it)}",
    "step_recalled": lambda it, tries: f"step {it.step} taken back, no agent had begun it",
    "reply_ignored": lambda it, tries: (
        f"a late or second reply to attempt {it.attempt} of {it.step} was ignored ({it.detail.get('outcome')})"
    ),
    "waiting": lambda it, tries: f"waiting, next in {_until(it, 'until')}",
    "processed": lambda it, tries: "processed: every step is completed",
    "compensated": lambda it, tries: "compensated: nothing of the order is left",
    "error": lambda it, tries: f"error, an operator is alerted: {_error(it)}",
    "undo_requested": lambda it, tries: f"the order is to be undone{_because(it, 'why')}",
    "step_timed_out": _timed_out,
    "undo_timed_out": _timed_out,
    "order_overran": lambda it, tries: (
        f"supervisor: the order passed its own complete-by, {it.detail.get('overruns')} of {tries.forward}"
    ),
    "call_failed": _called,
    "resubmitted": _resubmitted,
    "waiting_for_agent": lambda it, tries: (
        f"step {it.step} waits for {it.detail.get('agent')} to be able to take it"
    ),
    "step_deferred": lambda it, tries: f"step {it.step} put off, its agent cannot be used: {_cause(it)}",
    "step_given_up": lambda it, tries: f"step {it.step} is not tried any more: {_error(it)}",
    "step_skipped": lambda it, tries: f"operator: skipped {it.step}{_because(it, 'reason')}",
    "settled_done": lambda it, tries: f"operator: settled {it.step}, it was done{_because(it, 'reason')}",
    "settled_not_done": lambda it, tries: (
        f"operator: settled {it.step}, it was not done{_because(it, 'reason')}"
    ),
    "settled_undone": lambda it, tries: (
        f"operator: settled {it.step}, it was undone outside{_because(it, 'reason')}"
    ),
    "edited": lambda it, tries: (
        f"operator: edited {', '.join(it.detail.get('after', {}))} of {it.step}{_because(it, 'reason')}"
    ),
    "hurried": lambda it, tries: f"operator: {it.step} is to be tried at once",
    "priority_set": lambda it, tries: (
        f"operator: priority {it.detail.get('after')} instead of {it.detail.get('before')}{_because(it, 'reason')}"
    ),
    "link_mailed": lambda it, tries: "the customer was mailed the link to the order",
    "paid_again": lambda it, tries: f"customer: {it.step} is to be tried with another means of payment",
}
