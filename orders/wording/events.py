"""What happened to an order, in one sentence for each kind of event: for the console, the commands and emails.

Text that a remote service or a person wrote is quoted, and cut short.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from orders.selectors.desk.history import EventFacts, moment
from orders.selectors.desk.standing import RetryLimits
from orders.selectors.desk.timeline import retry_after
from orders.selectors.tracked_orders import GUEST
from orders.vocabulary import AlertKind, EventKind, Reason, WaitKind
from orders.wording.order_edits import in_words
from orders.wording.units import counted, duration

LONGEST_QUOTE = 300
"""Characters shown of a text that a remote service or a person wrote: what fits a line or two of a page."""
LONGEST_DETAIL = 4_000
"""Characters shown of an event's details as JSON."""

REASONS: Mapping[str, str] = {
    Reason.CUSTOMER_CANCELLED: "the customer cancelled",
    Reason.CUSTOMER_DID_NOT_RESOLVE: "the customer did not resolve what was declined in time",
    Reason.DECIDED: "that was decided",
    Reason.STEP_REMEDY: "a step failed for good, and its remedy is to cancel the order",
}
"""Why an order is cancelled, unless an operator gave a reason."""

SENTENCES: Mapping[str, str] = {
    EventKind.RECEIVED: "Received{client}{queued}",
    EventKind.DUPLICATE_IGNORED: "The same order arrived a second time and was ignored",
    EventKind.SET_ASIDE: "Set aside{error}",
    EventKind.REPLAYED: "The submission was put back on the queue",
    EventKind.CLAIMED: "Picked up for processing",
    EventKind.STEP_STARTED: "Step {step} started, attempt {attempt}",
    EventKind.STEP_COMPLETED: "Step {step} completed{calls}{decision}{default}",
    EventKind.STEP_REFUSED: "Step {step} was refused{error}",
    EventKind.STEP_DECLINED: "Step {step} was declined{error}; the customer has {wait} to resolve it",
    EventKind.STEP_FAILED: "Step {step} failed, and its outcome is unknown{error}",
    EventKind.STEP_TIMED_OUT: "Step {step} got no answer in time (attempt {attempt}){ruling}",
    EventKind.STEP_RECALLED: "Step {step} was taken back before its service was called",
    EventKind.STEP_DEFERRED: "Step {step} was postponed, because its agent was unavailable{cause}",
    EventKind.STEP_GIVEN_UP: "Step {step} was given up{error}",
    EventKind.STEP_SKIPPED: "Step {step} was skipped{condition}{reason}",
    EventKind.STEP_COMPENSATED: "Step {step} was reversed{calls}",
    EventKind.STEP_RENEWED: "Nothing of step {step} remains{calls}, so it is done again with a new key",
    EventKind.COMPENSATION_REQUESTED: "Cancellation requested{reason}",
    EventKind.COMPENSATION_STARTED: "Reversal of {step} started",
    EventKind.COMPENSATION_FAILED: "Reversal of {step} failed{error}",
    EventKind.COMPENSATION_TIMED_OUT: "Reversal of {step} got no answer in time{ruling}",
    EventKind.CALL_FAILED: "A call for step {step} failed{error}{took}",
    EventKind.INQUIRED: "Asked whether step {step} was done: {finding}",
    EventKind.REPLY_IGNORED: "A late or repeated reply to attempt {attempt} of {step} was ignored{outcome}",
    EventKind.WAITING: "The order waits for {wait}",
    EventKind.WAITING_FOR_AGENT: "Step {step} is waiting until {agent} can take it",
    EventKind.AWAITING: "Step {step} is waiting for {awaited}{until}",
    EventKind.WAIT_ENDED: "Step {step} is no longer waiting{wait_ruling}",
    EventKind.ORDER_OVERRAN: "The order ran out of its time ({overruns} of {limit})",
    EventKind.PROCESSED: "Processed: every step is completed",
    EventKind.COMPENSATED: "Cancelled: every step that had an effect is reversed",
    EventKind.ERROR: "The order went into Error, and an alert was opened{error}",
    EventKind.RESUBMITTED: "{subject} was resubmitted{reversal}{reason}",
    EventKind.EDITED: "{subject} was edited ({fields}){following}{reason}",
    EventKind.HURRIED: "Step {step} will be retried now",
    EventKind.PRIORITY_SET: "The priority was changed from {before} to {after}{reason}",
    EventKind.PAUSED: "The order was paused{for_time}{reason}",
    EventKind.RESUMED: "The order was resumed{by_itself}{reason}",
    EventKind.VERSION_CHANGED: "The order was moved from version {before} of its workflow to version {after}{reason}",
    EventKind.SETTLED_DONE: "Step {step} was settled by hand as done{reason}",
    EventKind.SETTLED_NOT_DONE: "Step {step} was settled by hand as not done{reason}",
    EventKind.SETTLED_COMPENSATED: "Step {step} was settled by hand as reversed outside the system{reason}",
    EventKind.PAID_AGAIN: "The customer chose another way to pay, and {step} is tried again{reversal}",
    EventKind.CORRECTED: "The customer changed her order ({fields}){following}, and {step} is tried again{reversal}",
    EventKind.LINK_MAILED: "The customer was emailed a link to the order",
}
"""`_parts` fills in the names in braces from the event."""

FINDINGS: Mapping[str, str] = {
    "done": "it was",
    "not_done": "it was not",
    "pending": "it is still under way",
    "unknown": "it is unknown",
}
"""What a remote service said when it was asked what had become of a call."""

RULINGS: Mapping[str, str] = {
    "retry": ": {failure}; next attempt after {wait}",
    "wait": ": {failure}; next attempt after a longer wait of {wait}",
    "compensate": ": {failure}; the order will be cancelled",
    "fail": ": {failure}; no further attempt",
    "defer": ": it waits until its agent is available, and no failure is counted",
    "default": ": its default is taken",
    "settle": ": it will be reversed once its call can no longer take effect",
}
"""What the supervisor decided about a step that timed out."""

AWAITED: Mapping[str, str] = {
    WaitKind.DECISION: "somebody’s decision",
    WaitKind.EVENT: "an outside event",
    WaitKind.DELAY: "a set time",
    WaitKind.ANSWER: "an answer that comes later",
    WaitKind.ITEMS: "its {items}",
}
"""What a step waits for."""

WAIT_RULINGS: Mapping[str, str] = {
    "fail": ": no answer came in time",
    "compensate": ": the order is cancelled",
    "settle": ": the order is cancelled",
}
"""How a wait ended without an answer."""

TONES: Mapping[str, str] = {
    **dict.fromkeys((EventKind.STEP_COMPLETED, EventKind.PROCESSED, EventKind.SETTLED_DONE), "good"),
    **dict.fromkeys((EventKind.STEP_STARTED, EventKind.COMPENSATION_STARTED, EventKind.CLAIMED), "busy"),
    **dict.fromkeys(
        (
            EventKind.CALL_FAILED,
            EventKind.STEP_TIMED_OUT,
            EventKind.COMPENSATION_TIMED_OUT,
            EventKind.ORDER_OVERRAN,
            EventKind.STEP_DEFERRED,
            EventKind.STEP_DECLINED,
        ),
        "warn",
    ),
    **dict.fromkeys(
        (
            EventKind.ERROR,
            EventKind.STEP_REFUSED,
            EventKind.STEP_FAILED,
            EventKind.COMPENSATION_FAILED,
            EventKind.SET_ASIDE,
            EventKind.STEP_GIVEN_UP,
        ),
        "bad",
    ),
}
"""The tone in which each kind of event is shown; `idle` for all others."""


@dataclass(frozen=True, kw_only=True)
class EventEntry:
    """An event as the order page shows it. `detail` is what else is stored about it, as JSON; `retry_at` is the next
    try; `exchange` is what was sent and answered, if it is a call that got an answer."""

    event: EventFacts
    sentence: str
    tone: str
    key: str
    detail: str
    retry_at: datetime | None
    exchange: Mapping[str, Any] | None = None


def event_entry(event: EventFacts, retry_limits: RetryLimits) -> EventEntry:
    """Returns an event with its sentence and everything that is stored about it."""
    exchange = event.detail.get("exchange")
    apart = ("key", "exchange") if isinstance(exchange, Mapping) else ("key",)
    details = {name: value for name, value in event.detail.items() if value is not None and name not in apart}
    detail = json.dumps(details, ensure_ascii=False, indent=1, default=str) if details else ""
    return EventEntry(
        event=event,
        sentence=event_sentence(event, retry_limits),
        tone=TONES.get(event.kind, "idle"),
        key=str(event.detail.get("key", "")),
        detail=shorten(detail, LONGEST_DETAIL),
        retry_at=retry_after(event),
        exchange=exchange if isinstance(exchange, Mapping) else None,
    )


def event_sentence(event: EventFacts, retry_limits: RetryLimits) -> str:
    """Says what happened. An event kind that this release does not know is shown by its name and details."""
    template = SENTENCES.get(event.kind)
    if event.kind == EventKind.ERROR and event.detail.get("alert") == AlertKind.COMPENSATION_FAILED:
        template = "The reversal of {step} failed, the order went into Error, and an alert was opened{error}"
    if event.kind == EventKind.PAUSED and event.step:
        template = "Step {step} is paused in all orders, and waits until somebody resumes it"
    if event.kind == EventKind.STEP_DEFERRED:
        template = _deferral(event)
    return _unknown(event) if template is None else template.format_map(_parts(event, retry_limits, template))


def _deferral(event: EventFacts) -> str:
    """Why a step was postponed: its remote service asks for time, it fails alone, or its agent is unavailable."""
    cause = event.detail.get("cause")
    if isinstance(cause, Mapping) and cause.get("code") == "paused":
        return "Step {step} was taken back before its agent had begun it, because it was paused"
    if event.detail.get("until"):
        return "Step {step} waits {wait}, because its remote service asked for that time{cause}"
    if event.detail.get("counts"):
        return "Step {step} failed, although its agent works for other orders, so this counts as a failure{cause}"
    if isinstance(cause, Mapping) and cause.get("code") == "no_answer":
        return "Step {step} was postponed, because its service did not answer"
    return SENTENCES[EventKind.STEP_DEFERRED]


def calls_sentence(calls: Sequence[EventFacts]) -> str:
    """Says in one sentence that several calls of an attempt failed in the same way."""
    template = "{count} calls for step {step} failed in the same way{error}"
    return template.format_map(_parts(calls[0], RetryLimits(), template) | {"count": str(len(calls))})


def shorten(text: object, longest: int = LONGEST_QUOTE) -> str:
    """Returns the first `longest` characters of a text, and says how many are left out."""
    whole = str(text)
    return (
        whole if len(whole) <= longest else f"{whole[:longest]}… ({len(whole) - longest:,} more characters)"
    )


def error_text(error: Any) -> str:
    """Returns an error's code and message, as an agent reported them."""
    if not isinstance(error, Mapping):
        return ""
    return shorten(": ".join(str(error[name]) for name in ("code", "message") if error.get(name)))


def _parts(event: EventFacts, retry_limits: RetryLimits, template: str) -> dict[str, str]:
    """Returns the parts of a sentence. Optional parts bring their own punctuation, and are empty without a value."""
    detail = event.detail
    limit = retry_limits.backward if event.kind == EventKind.COMPENSATION_TIMED_OUT else retry_limits.forward
    wait, ends = _wait(event), moment(detail.get("until"))
    return {
        "step": event.step,
        "subject": f"Step {event.step}" if event.step else "The order",
        "attempt": str(event.attempt),
        "agent": _of(event, "agent", "its agent"),
        "overruns": _of(event, "overruns", "?"),
        "limit": str(limit),
        "before": _of(event, "before", "?"),
        "after": _of(event, "after", "?"),
        "fields": _fields(detail.get("after")),
        "following": _following(event),
        "wait": wait,
        "client": f" from {shorten(detail['by'])}" if detail.get("by") not in (None, "", GUEST) else "",
        "queued": _queued(event),
        "calls": _calls(detail.get("calls")),
        "decision": _decision(detail.get("decision")),
        "default": " by default, because no answer came in time" if "default" in detail else "",
        "finding": finding_text(detail),
        "took": _took(detail.get("seconds")),
        "outcome": f" ({detail['outcome']})" if detail.get("outcome") else "",
        "condition": ", because its condition does not hold" if detail.get("condition") is False else "",
        "awaited": _awaited(detail),
        "for_time": f" for {duration((ends - event.at).total_seconds())}" if ends else "",
        "by_itself": ", because its pause was over" if ends else "",
        "until": f", for {wait} at most" if detail.get("until") else "",
        "wait_ruling": WAIT_RULINGS.get(str(detail.get("ruling")), ""),
        "ruling": _ruling(event, limit, wait),
        "error": _after_colon(_error(event), template),
        "cause": _after_colon(error_text(detail.get("cause")), template),
        "reversal": ", and what it may have done is reversed first" if detail.get("reversed_first") else "",
        "reason": _after_colon(shorten(_reason(event)), template),
    }


def _awaited(detail: Mapping[str, Any]) -> str:
    text = AWAITED.get(str(detail.get("kind")), "an answer")
    items = detail.get("items")
    return text.format(items=counted(items, "item") if isinstance(items, int) else "items")


def _of(event: EventFacts, name: str, otherwise: str) -> str:
    value = event.detail.get(name)
    return otherwise if value is None else shorten(value)


def _after_colon(text: str, template: str) -> str:
    """Puts a text after a colon, without a code that repeats the sentence's last word: "was refused: refused: no"."""
    code, separator, message = text.partition(": ")
    if separator and f" {code}{{" in template:
        text = message
    return f": {text}" if text else ""


def _error(event: EventFacts) -> str:
    """Returns an event's error as text. A failed call is an error itself."""
    error = event.detail if event.kind == EventKind.CALL_FAILED else event.detail.get("error")
    return error_text(error) or shorten(event.detail.get("reason") or "")


def _wait(event: EventFacts) -> str:
    until = retry_after(event)
    return duration((until - event.at).total_seconds()) if until else "a while"


def _queued(event: EventFacts) -> str:
    posted_at = moment(event.detail.get("posted_at"))
    return f", {duration((event.at - posted_at).total_seconds())} after it was posted" if posted_at else ""


def _decision(decision: object) -> str:
    """Who decided what, and the note."""
    if not isinstance(decision, Mapping):
        return ""
    note = shorten(str(decision.get("note") or ""))
    text = f": {decision.get('by') or 'somebody'} decided “{decision.get('choice')}”"
    return f"{text} ({note})" if note else text


def _calls(calls: object) -> str:
    return f" after {counted(calls, 'call')}" if isinstance(calls, int) and calls > 1 else ""


def _took(seconds: object) -> str:
    return f" ({duration(seconds)})" if isinstance(seconds, int | float) else ""


def finding_text(detail: Mapping[str, Any]) -> str:
    """Returns what a remote service answered when it was asked. An unknown outcome brings its reason."""
    finding = FINDINGS.get(str(detail.get("finding")), "it is unknown")
    return f"{finding} ({shorten(detail['reason'])})" if detail.get("reason") else finding


def _following(event: EventFacts) -> str:
    """Which steps ask for something else since an edit; of a step that was edited, which others."""
    steps = event.detail.get("steps")
    if not isinstance(steps, list) or not steps:
        return ""
    return f", which {'also ' if event.step else ''}changes {in_words(map(str, steps))}"


def _fields(after: object) -> str:
    return ", ".join(str(name) for name in after) if isinstance(after, Mapping) else "fields unknown"


def _ruling(event: EventFacts, limit: int, wait: str) -> str:
    failures = event.detail.get("failures")
    is_within = isinstance(failures, int) and failures <= limit
    failure = f"failure {_of(event, 'failures', '?')}{f' of {limit}' if is_within else ''}"
    return RULINGS.get(str(event.detail.get("ruling")), "").format(failure=failure, wait=wait)


def _unknown(event: EventFacts) -> str:
    name = event.kind.replace("_", " ").capitalize()
    details = ", ".join(f"{key} {value}" for key, value in event.detail.items() if value is not None)
    return shorten(f"{name}{f' {event.step}' if event.step else ''}{f': {details}' if details else ''}")


def _reason(event: EventFacts) -> str:
    """Returns an operator's own words, or ours for the reason's code."""
    return str(event.detail.get("reason") or REASONS.get(str(event.detail.get("why")), ""))
