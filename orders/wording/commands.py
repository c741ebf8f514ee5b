"""What the operators' commands call things: what happened to an order."""

from collections.abc import Callable, Mapping

from orders.selectors.desk.history import EventFacts, moment
from orders.selectors.desk.standing import Tries
from orders.vocabulary import EventKind
from orders.wording.units import counted, duration


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
    undoing = happened.kind == EventKind.COMPENSATION_TIMED_OUT
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
    what = "undo of" if happened.kind == EventKind.COMPENSATION_STARTED else "step"
    return f"{what} {happened.step} started, attempt {happened.attempt}"


_EVENTS: Mapping[str, Callable[[EventFacts, Tries], str]] = {
    EventKind.RECEIVED: _received,
    EventKind.DUPLICATE_IGNORED: lambda it, tries: "a second copy of the submission was ignored",
    EventKind.SET_ASIDE: lambda it, tries: f"set aside: {it.detail.get('reason')}",
    EventKind.REPLAYED: lambda it, tries: "operator: the submission was put back on the queue",
    EventKind.CLAIMED: lambda it, tries: "claimed by a scheduler",
    EventKind.STEP_STARTED: _started,
    EventKind.COMPENSATION_STARTED: _started,
    EventKind.STEP_COMPLETED: lambda it, tries: f"step {it.step} completed{_calls(it)}",
    EventKind.STEP_COMPENSATED: lambda it, tries: f"step {it.step} undone{_calls(it)}",
    EventKind.STEP_REFUSED: lambda it, tries: f"step {it.step} refused: {_error(it)}",
    EventKind.STEP_DECLINED: lambda it, tries: (
        f"step {it.step} declined: {_error(it)}; the customer has {_until(it, 'waits_until')} to mend it"
    ),
    EventKind.STEP_FAILED: lambda it, tries: f"step {it.step} failed, outcome unknown: {_error(it)}",
    EventKind.COMPENSATION_FAILED: lambda it, tries: f"undo of {it.step} failed: {_error(it)}",
    EventKind.STEP_RECALLED: lambda it, tries: f"step {it.step} taken back, no agent had begun it",
    EventKind.REPLY_IGNORED: lambda it, tries: (
        f"a late or second reply to attempt {it.attempt} of {it.step} was ignored ({it.detail.get('outcome')})"
    ),
    EventKind.WAITING: lambda it, tries: f"waiting, next in {_until(it, 'until')}",
    EventKind.PROCESSED: lambda it, tries: "processed: every step is completed",
    EventKind.COMPENSATED: lambda it, tries: "compensated: nothing of the order is left",
    EventKind.ERROR: lambda it, tries: f"error, an operator is alerted: {_error(it)}",
    EventKind.COMPENSATION_REQUESTED: lambda it, tries: f"the order is to be undone{_because(it, 'why')}",
    EventKind.STEP_TIMED_OUT: _timed_out,
    EventKind.COMPENSATION_TIMED_OUT: _timed_out,
    EventKind.ORDER_OVERRAN: lambda it, tries: (
        f"supervisor: the order passed its own complete-by, {it.detail.get('overruns')} of {tries.forward}"
    ),
    EventKind.CALL_FAILED: _called,
    EventKind.RESUBMITTED: _resubmitted,
    EventKind.WAITING_FOR_AGENT: lambda it, tries: (
        f"step {it.step} waits for {it.detail.get('agent')} to be able to take it"
    ),
    EventKind.STEP_DEFERRED: lambda it, tries: (
        f"step {it.step} put off, its agent cannot be used: {_cause(it)}"
    ),
    EventKind.STEP_GIVEN_UP: lambda it, tries: f"step {it.step} is not tried any more: {_error(it)}",
    EventKind.STEP_SKIPPED: lambda it, tries: f"operator: skipped {it.step}{_because(it, 'reason')}",
    EventKind.SETTLED_DONE: lambda it, tries: (
        f"operator: settled {it.step}, it was done{_because(it, 'reason')}"
    ),
    EventKind.SETTLED_NOT_DONE: lambda it, tries: (
        f"operator: settled {it.step}, it was not done{_because(it, 'reason')}"
    ),
    EventKind.SETTLED_COMPENSATED: lambda it, tries: (
        f"operator: settled {it.step}, it was undone outside{_because(it, 'reason')}"
    ),
    EventKind.EDITED: lambda it, tries: (
        f"operator: edited {', '.join(it.detail.get('after', {}))} of {it.step}{_because(it, 'reason')}"
    ),
    EventKind.HURRIED: lambda it, tries: f"operator: {it.step} is to be tried at once",
    EventKind.PRIORITY_SET: lambda it, tries: (
        f"operator: priority {it.detail.get('after')} instead of {it.detail.get('before')}{_because(it, 'reason')}"
    ),
    EventKind.LINK_MAILED: lambda it, tries: "the customer was mailed the link to the order",
    EventKind.PAID_AGAIN: lambda it, tries: (
        f"customer: {it.step} is to be tried with another means of payment"
    ),
}
