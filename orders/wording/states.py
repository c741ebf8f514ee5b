"""The states of orders, steps, circuits and bulk actions as operators see them: a tone, an icon and a label each."""

from collections.abc import Mapping
from typing import NamedTuple

from orders.vocabulary import Outcome, ProcessState, StepStatus


class Pill(NamedTuple):
    """How a state is shown. `tone` is good, busy, warn, bad or idle; `icon` is a name in static/icons.svg."""

    tone: str
    icon: str
    label: str


ORDER_STATES: Mapping[str, Pill] = {
    ProcessState.PENDING: Pill("idle", "clock", "pending"),
    ProcessState.PROCESSING: Pill("busy", "running", "processing"),
    ProcessState.PROCESSED: Pill("good", "done", "processed"),
    ProcessState.ERROR: Pill("bad", "error", "error"),
    ProcessState.COMPENSATED: Pill("idle", "undo", "compensated"),
}
STEP_STATES: Mapping[str, Pill] = {
    StepStatus.NOT_STARTED: Pill("idle", "clock", "not started"),
    StepStatus.RUNNING: Pill("busy", "running", "running"),
    StepStatus.COMPLETED: Pill("good", "done", "completed"),
    StepStatus.FAILED: Pill("bad", "error", "failed"),
    StepStatus.SKIPPED: Pill("idle", "chevron-right", "skipped"),
    StepStatus.COMPENSATING: Pill("warn", "undo", "compensating"),
    StepStatus.COMPENSATED: Pill("idle", "undo", "compensated"),
}
CIRCUIT_STATES: Mapping[str, Pill] = {
    "closed": Pill("good", "done", "closed"),
    "open": Pill("bad", "stop", "open"),
    "half_open": Pill("warn", "retry", "half open"),
}
OUTCOMES: Mapping[str, str] = {
    Outcome.NONE: "none",
    Outcome.UNKNOWN: "unknown",
    Outcome.REFUSED: "refused",
    Outcome.DONE: "done",
}


def pill_of(pills: Mapping[str, Pill], state: str) -> Pill:
    """The pill of a state. One that this release does not know is shown by its name."""
    return pills.get(state) or Pill("idle", "info", state.replace("_", " "))
