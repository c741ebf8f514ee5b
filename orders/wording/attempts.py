"""How an attempt of a step went, in words."""

from collections.abc import Mapping

from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.timeline import AttemptOutcome
from orders.vocabulary import EventKind
from orders.wording.state_labels import Pill

ATTEMPTS: Mapping[AttemptOutcome, Pill] = {
    AttemptOutcome.UNDER_WAY: Pill("busy", "running", "running"),
    AttemptOutcome.TAKEN: Pill("idle", "clock", "answer comes later"),
    AttemptOutcome.DONE: Pill("good", "done", "done"),
    AttemptOutcome.COMPENSATED: Pill("idle", "cross", "reversed"),
    AttemptOutcome.FAILED: Pill("bad", "error", "failed"),
    AttemptOutcome.TIMED_OUT: Pill("warn", "warning", "no answer"),
    AttemptOutcome.RECALLED: Pill("idle", "undo", "taken back"),
    AttemptOutcome.DEFERRED: Pill("idle", "undo", "postponed"),
}
"""The pill of each outcome."""


_NOTICES: Mapping[str, str] = {
    EventKind.COMPENSATION_STARTED: "Notice of cancellation by {step} started",
    EventKind.STEP_COMPENSATED: "{step} sent the notice of cancellation",
}
"""What is said of a step that is not reversed when its order is cancelled, but sends a notice."""


def attempt_title(step: str, number: int, *, reversal: int, is_notice: bool = False) -> str:
    """Names an attempt: "create-shipment, attempt 2", "create-shipment, reversal", "send-confirmation, notice of
    cancellation, try 2". `reversal` is its number among those that reverse the step, 0 for one that performs it."""
    return f"{step}, {attempt_words(number, reversal=reversal, is_notice=is_notice)}"


def attempt_words(number: int, *, reversal: int, is_notice: bool = False) -> str:
    """The same beside the step's name: "attempt 2", "reversal", "notice of cancellation, try 2"."""
    if not reversal:
        return f"attempt {number}"
    what = "notice of cancellation" if is_notice else "reversal"
    return what if reversal == 1 else f"{what}, try {reversal}"


def notice_sentence(event: EventFacts) -> str:
    """What happened to a step that sends a notice when its order is cancelled; empty if it is as for any other step."""
    return _NOTICES.get(event.kind, "").format(step=event.step)
