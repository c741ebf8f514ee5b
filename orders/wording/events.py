"""What happened to an order, in the reader's language. What a remote service said is its own words, cut short."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.standing import Tries
from orders.selectors.desk.timeline import retry_after
from orders.vocabulary import EventKind
from orders.wording.units import duration

LONGEST_WORDS = 300
LONGEST_DETAIL = 4_000
"""Characters that are shown of what a remote service said, and of everything that is kept of an event."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """An event as the page shows it. `tone` is that of a status; `retry_at` is when the next try comes, if one does."""

    event: EventFacts
    words: str
    tone: str
    key: str
    detail: str
    retry_at: datetime | None


def tell(event: EventFacts, tries: Tries) -> Told:
    """An event in words, with everything that is kept of it as JSON."""
    words = _WORDS.get(event.kind)
    kept = {name: value for name, value in event.detail.items() if value is not None and name != "key"}
    detail = json.dumps(kept, ensure_ascii=False, indent=1, default=str) if kept else ""
    return Told(
        event=event,
        words=words(event, tries) if words else event.kind.replace("_", " "),
        tone=_TONES.get(event.kind, "idle"),
        key=str(event.detail.get("key", "")),
        detail=shorten(detail, LONGEST_DETAIL),
        retry_at=retry_after(event),
    )


def shorten(text: object, longest: int = LONGEST_WORDS) -> str:
    """A text of at most that many characters, and how many are left out."""
    whole = str(text)
    if len(whole) <= longest:
        return whole
    return whole[:longest] + _("… (%(n)s more characters)") % {"n": len(whole) - longest}


def error_words(error: Any) -> str:
    """The code and the message of an error as an agent reported it."""
    if not isinstance(error, Mapping):
        return ""
    return shorten(": ".join(str(error[name]) for name in ("code", "message") if error.get(name)))


def _error(event: EventFacts) -> str:
    return error_words(event.detail.get("error")) or shorten(event.detail.get("reason", ""))


def _why(event: EventFacts, name: str = "reason") -> str:
    why = event.detail.get(name)
    return f": {shorten(why)}" if why else ""


def _wait(event: EventFacts) -> str:
    until = retry_after(event)
    return duration((until - event.at).total_seconds()) if until else "–"


def _timed_out(event: EventFacts, tries: Tries) -> str:
    undoing = event.kind == EventKind.COMPENSATION_TIMED_OUT
    facts = {
        "k": event.detail.get("failures", 0),
        "n": tries.undo if undoing else tries.forward,
        "wait": _wait(event),
    }
    ruling = {
        "retry": _("failure %(k)s of %(n)s, next try in %(wait)s"),
        "wait": _("failure %(k)s of %(n)s, a long wait, next try in %(wait)s"),
        "undo": _("failure %(k)s of %(n)s, the order is to be undone"),
        "fail": _("failure %(k)s of %(n)s, no more tries"),
        "settle": _("it will be undone once its call can no longer land"),
    }.get(str(event.detail.get("ruling")), "")
    said = _("undo: no answer by complete-by") if undoing else _("no answer by complete-by")
    return f"{said}: {ruling % facts}" if ruling else said


def _called(event: EventFacts, tries: Tries) -> str:
    return _("call %(try)s failed: %(error)s") % {
        "try": event.detail.get("try", "?"),
        "error": error_words(event.detail),
    }


def _said(words: Callable[[], str], part: Callable[[EventFacts], str]) -> Callable[[EventFacts, Tries], str]:
    return lambda event, tries: _joined(words(), part(event))


def _joined(said: str, more: str) -> str:
    """Both, and once what both say: "refused: we do not go there", of an error whose code is "refused"."""
    again = f": {said}: "
    return f"{said}: {more.removeprefix(again)}" if more.startswith(again) else f"{said}{more}"


def _with_error(event: EventFacts) -> str:
    error = _error(event)
    return f": {error}" if error else ""


def _edited(event: EventFacts, tries: Tries) -> str:
    names = ", ".join(str(name) for name in event.detail.get("after", {}))
    return _("edited %(names)s") % {"names": names} + _why(event)


def _priority(event: EventFacts, tries: Tries) -> str:
    change = {"after": event.detail.get("after"), "before": event.detail.get("before")}
    return _("priority %(after)s instead of %(before)s") % change + _why(event)


def _nothing(event: EventFacts) -> str:
    return ""


_WORDS: Mapping[str, Callable[[EventFacts, Tries], str]] = {
    EventKind.RECEIVED: _said(lambda: _("received by submission"), _nothing),
    EventKind.DUPLICATE_IGNORED: _said(lambda: _("a second copy of the submission was ignored"), _nothing),
    EventKind.SET_ASIDE: _said(lambda: _("set aside"), _with_error),
    EventKind.REPLAYED: _said(lambda: _("the submission was put back on the queue"), _nothing),
    EventKind.CLAIMED: _said(lambda: _("claimed by a scheduler"), _nothing),
    EventKind.STEP_STARTED: _said(lambda: _("started"), _nothing),
    EventKind.COMPENSATION_STARTED: _said(lambda: _("undo started"), _nothing),
    EventKind.STEP_COMPLETED: _said(lambda: _("completed"), _nothing),
    EventKind.STEP_COMPENSATED: _said(lambda: _("undone"), _nothing),
    EventKind.STEP_REFUSED: _said(lambda: _("refused"), _with_error),
    EventKind.STEP_DECLINED: lambda event, tries: (
        _joined(_("declined"), _with_error(event))
        + _("; the customer has %(wait)s to mend it") % {"wait": _wait(event)}
    ),
    EventKind.STEP_FAILED: _said(lambda: _("failed, and nobody knows whether it was done"), _with_error),
    EventKind.COMPENSATION_FAILED: _said(lambda: _("the undo failed"), _with_error),
    EventKind.STEP_RECALLED: _said(lambda: _("taken back before any agent had begun it"), _nothing),
    EventKind.STEP_DEFERRED: lambda event, tries: (
        _("put off, the agent cannot be used now") + f": {error_words(event.detail.get('cause'))}"
    ),
    EventKind.STEP_GIVEN_UP: _said(lambda: _("not tried any more"), _with_error),
    EventKind.WAITING_FOR_AGENT: _said(lambda: _("waits for its agent to be able to take it"), _nothing),
    EventKind.REPLY_IGNORED: _said(lambda: _("a late or second reply was ignored"), _nothing),
    EventKind.WAITING: lambda event, tries: _("waiting, next try in %(wait)s") % {"wait": _wait(event)},
    EventKind.PROCESSED: _said(lambda: _("every step is completed"), _nothing),
    EventKind.COMPENSATED: _said(lambda: _("nothing of the order is left"), _nothing),
    EventKind.ERROR: _said(lambda: _("error, an operator is alerted"), _with_error),
    EventKind.COMPENSATION_REQUESTED: _said(
        lambda: _("the order is to be undone"), lambda event: _why(event, "why")
    ),
    EventKind.STEP_TIMED_OUT: _timed_out,
    EventKind.COMPENSATION_TIMED_OUT: _timed_out,
    EventKind.ORDER_OVERRAN: lambda event, tries: (
        _("the order passed its own complete-by, %(k)s of %(n)s")
        % {"k": event.detail.get("overruns"), "n": tries.forward}
    ),
    EventKind.CALL_FAILED: _called,
    EventKind.RESUBMITTED: _said(lambda: _("resubmitted"), _why),
    EventKind.STEP_SKIPPED: _said(lambda: _("skipped"), _why),
    EventKind.SETTLED_DONE: _said(lambda: _("settled by hand, it was done"), _why),
    EventKind.SETTLED_NOT_DONE: _said(lambda: _("settled by hand, it was not done"), _why),
    EventKind.SETTLED_COMPENSATED: _said(lambda: _("settled by hand, it was undone outside"), _why),
    EventKind.EDITED: _edited,
    EventKind.HURRIED: _said(lambda: _("to be tried at once"), _nothing),
    EventKind.PRIORITY_SET: _priority,
    EventKind.LINK_MAILED: _said(lambda: _("the customer was mailed the link to the order"), _nothing),
    EventKind.PAID_AGAIN: _said(lambda: _("the customer named another means of payment"), _nothing),
}
_TONES: Mapping[str, str] = {
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
