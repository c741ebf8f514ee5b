"""How an attempt of a step went, in words."""

from collections.abc import Mapping

from orders.selectors.desk.timeline import AttemptOutcome
from orders.wording.state_labels import Pill

ATTEMPTS: Mapping[AttemptOutcome, Pill] = {
    AttemptOutcome.UNDER_WAY: Pill("busy", "running", "running"),
    AttemptOutcome.TAKEN: Pill("idle", "clock", "answer comes later"),
    AttemptOutcome.DONE: Pill("good", "done", "done"),
    AttemptOutcome.COMPENSATED: Pill("idle", "cross", "reversed"),
    AttemptOutcome.FAILED: Pill("bad", "error", "failed"),
    AttemptOutcome.TIMED_OUT: Pill("warn", "warning", "no answer"),
    AttemptOutcome.RECALLED: Pill("idle", "undo", "recalled"),
    AttemptOutcome.DEFERRED: Pill("idle", "undo", "handed back"),
}
"""The pill of each outcome."""


def attempt_title(step: str, number: int, *, compensates: bool) -> str:
    """Names an attempt: "create-shipment, attempt 2", "create-shipment, reversal, attempt 3"."""
    return f"{step}, {'reversal, ' if compensates else ''}attempt {number}"
