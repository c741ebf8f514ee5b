"""How often the remote service of a step was called, and how these calls ended, from the order's attempts. Pure.

A host that was killed has recorded nothing of what it called, so its calls count only by how their attempt ended.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.selectors.desk.attempts import Attempt
from orders.selectors.desk.history import EventFacts
from orders.vocabulary import EventKind

NO_ANSWER = frozenset({"no_answer", "timeout", "connection_lost", "unreachable", "dns", "tls", "certificate"})
"""The codes of calls that no service answered, unless an answer is stored beside them."""
DONE = frozenset({EventKind.STEP_COMPLETED, EventKind.STEP_COMPENSATED, EventKind.STEP_RENEWED})
REFUSED = frozenset(
    {
        EventKind.STEP_REFUSED,
        EventKind.STEP_DECLINED,
        EventKind.STEP_FAILED,
        EventKind.COMPENSATION_FAILED,
    }
)
"""What an attempt ends with when its last call failed for good."""
SETTLED = frozenset({EventKind.SETTLED_DONE, EventKind.SETTLED_NOT_DONE, EventKind.SETTLED_COMPENSATED})
NOT_CALLED = frozenset({EventKind.STEP_RECALLED, EventKind.STEP_DEFERRED})
"""What an attempt ends with whose last call, if it made any, is among those that failed."""
NOTES_KEPT = 20
"""As many failed calls of an attempt are recorded at most (`orders.engine.agent_host.call`)."""


@dataclass(frozen=True, kw_only=True)
class StepCalls:
    """The calls for a step, or for its reversal: those without an answer, those that failed, were refused, or `done`.

    `last` is the kind of the event that they ended with; empty while they go on. `was_found` says that the service did
    not answer the last call, but said later that it was done. `is_least` says that there may have been more calls.
    """

    attempts: int
    unanswered: int
    failed: int
    done: int
    last: str
    was_found: bool
    is_least: bool
    keys: frozenset[str]
    began: datetime
    ended: datetime

    @property
    def calls(self) -> int:
        """How many calls there were."""
        return self.unanswered + self.failed + self.done


def step_calls(every_attempt: Iterable[Attempt], step: str, *, compensates: bool) -> StepCalls | None:
    """The calls for a step or, with `compensates`, for its reversal; None without any attempt."""
    of_step = [each for each in every_attempt if each.step == step and each.compensates == compensates]
    if not of_step:
        return None
    counts = [_count(attempt) for attempt in of_step]
    events = [event for attempt in of_step for event in attempt.events]
    return StepCalls(
        attempts=len(of_step),
        unanswered=sum(each[0] for each in counts),
        failed=sum(each[1] for each in counts),
        done=sum(each[2] for each in counts),
        last=_last(of_step[-1]),
        was_found=was_found(of_step[-1]),
        is_least=any(len(each.failed_calls) >= NOTES_KEPT and not _said(each.events) for each in of_step),
        keys=frozenset(each.key for each in of_step if each.key),
        began=of_step[0].began,
        ended=max(event.at for event in events),
    )


def _last(attempt: Attempt) -> str:
    """The kind of the event with which the calls of an attempt ended for good; empty if none has."""
    kinds = (event.kind for event in reversed(attempt.events))
    return next((kind for kind in kinds if kind in DONE | REFUSED | SETTLED), "")


def _count(attempt: Attempt) -> tuple[int, int, int]:
    """How many calls of an attempt got no answer, failed or were refused, and were done."""
    unanswered = sum(map(_is_unanswered, attempt.failed_calls))
    failed = len(attempt.failed_calls) - unanswered
    kinds = [event.kind for event in attempt.events]
    done = 0
    if was_found(attempt):
        unanswered = max(unanswered, 1 - failed)  # a host that was killed has recorded none
    elif any(kind in DONE for kind in kinds):
        done = 1
        failed = max(failed, _said(attempt.events) - unanswered - done)
    elif any(kind in REFUSED for kind in kinds):
        failed = max(failed, _said(attempt.events) - unanswered, 1 - unanswered)
    elif EventKind.AWAITING in kinds:
        done = 1  # it has taken the call, and answers later
    elif not (attempt.failed_calls or any(kind in NOT_CALLED for kind in kinds)):
        unanswered = int(attempt.ended is not None)
    return unanswered, failed, done


def was_found(attempt: Attempt) -> bool:
    """Whether the service was asked what had become of a call, and said that it was done."""
    return any(e.kind == EventKind.INQUIRED and e.detail.get("finding") == "done" for e in attempt.events)


def _said(events: Sequence[EventFacts]) -> int:
    """How many calls the host of an attempt's answer has made."""
    numbers = [event.detail.get("calls") for event in events if event.kind in DONE | REFUSED]
    return max((number for number in numbers if isinstance(number, int)), default=0)


def _is_unanswered(call: EventFacts) -> bool:
    return call.detail.get("code") in NO_ANSWER and not call.detail.get("exchange")
