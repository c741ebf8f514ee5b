"""How often the service of a step was asked, how that ended, and why it counts once, in plain sentences."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from orders.selectors.desk.attempts import Attempt
from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.step_calls import DONE, REFUSED, StepCalls, was_found
from orders.vocabulary import EventKind
from orders.wording.events import error_text
from orders.wording.units import counted

ENDINGS: Mapping[str, str] = {
    EventKind.STEP_COMPLETED: "done",
    EventKind.STEP_COMPENSATED: "reversed",
    EventKind.STEP_RENEWED: "reversed",
    EventKind.STEP_REFUSED: "refused",
    EventKind.STEP_DECLINED: "declined",
    EventKind.SETTLED_DONE: "settled by hand as done",
    EventKind.SETTLED_NOT_DONE: "settled by hand as not done",
    EventKind.SETTLED_COMPENSATED: "settled by hand as reversed",
}
"""How the calls for a step ended. Those that are not here just failed."""
_BY_AN_ANSWER = DONE | {EventKind.STEP_REFUSED, EventKind.STEP_DECLINED}
"""What the last call was itself answered with."""
UNANSWERED = frozenset({EventKind.STEP_TIMED_OUT, EventKind.COMPENSATION_TIMED_OUT})
"""What an attempt ends with whose host has recorded nothing, because it was killed or is unreachable."""


def asked_sentences(
    calls: StepCalls | None, *, agent: str, key_retention: float | None, can_be_asked: bool, is_done: bool
) -> str:
    """Says how often a step's service was asked, how these calls ended, and what their key has ensured.

    The service knows a call by its key for `key_retention` seconds; None if that is not known.
    """
    if calls is None or not agent or not calls.calls:
        return ""
    several = calls.attempts > 1 and calls.calls != calls.attempts
    attempts = f" in {calls.attempts} attempts" if several else ""
    sentence = f"Asked {_times(calls)}{attempts}{_endings(calls)}."
    if calls.calls == 1 or key_retention is None or not calls.keys:
        return sentence
    if key_retention > (calls.ended - calls.began).total_seconds():
        return f"{sentence} {_effect(calls, agent=agent, is_done=is_done)}"
    return (
        f"{sentence} Before each repeat it was asked whether it was done already."
        if can_be_asked
        else sentence
    )


def reversal_sentence(calls: StepCalls | None, *, is_notice: bool = False) -> str:
    """Says the same of the calls that reversed a step, or that sent the notice of the order's cancellation."""
    if calls is None or not calls.calls:
        return ""
    purpose = "to send the notice of cancellation" if is_notice else "to reverse it"
    endings = _endings(calls).replace("reversed", "sent") if is_notice else _endings(calls)
    return f"{counted(calls.calls, 'call')} {purpose}{endings}."


def _times(calls: StepCalls) -> str:
    times = "once" if calls.calls == 1 else f"{calls.calls} times"
    return f"at least {times}" if calls.is_least else times


def _endings(calls: StepCalls) -> str:
    """How the calls ended: ": 2 without an answer, then done"."""
    last = "found to be done" if calls.was_found and calls.last in DONE else ENDINGS.get(calls.last, "")
    if not calls.last and calls.done:
        last = "taken, and the answer comes later"
    is_call = last and (calls.done or calls.last in _BY_AN_ANSWER) and not calls.was_found
    failed = calls.failed - int(bool(is_call) and not calls.done)
    parts = [
        *([_of(calls.unanswered, "without an answer", calls)] if calls.unanswered else []),
        *([_of(failed, "failed", calls)] if failed > 0 else []),
    ]
    if not parts:
        return f": {last}" if last else ""
    joined = " and ".join(parts) if not last else f"{', '.join(parts)}, then {last}"
    return f"{', ' if joined.endswith('without an answer') and len(parts) == 1 else ': '}{joined}"


def _of(count: int, how: str, calls: StepCalls) -> str:
    if count < calls.calls:
        return f"{count} {how}"
    return how if count == 1 else f"all {how}"


def _effect(calls: StepCalls, *, agent: str, is_done: bool) -> str:
    """Why several calls have one effect."""
    did = "did it only once" if is_done else "does it at most once"
    if len(calls.keys) == 1:
        which = "Both" if calls.calls == 2 else f"All {calls.calls}"
        return f"{which} calls carried the same key, so {agent} {did}."
    key = "The second key" if len(calls.keys) == 2 else "Each new key"
    earlier = "the first call" if calls.calls == 2 else "the earlier calls"
    return f"{key} was used after nothing of {earlier} was left, so {agent} {did}."


def call_lines(every_attempt: Iterable[Attempt], step: str) -> list[tuple[datetime, str]]:
    """When each recorded call for a step, or for its reversal, ended and how, the first one first."""
    lines = [
        (event.at, f"to reverse it: {how}" if attempt.compensates else how)
        for attempt in every_attempt
        if attempt.step == step
        for event, how in _calls_of(attempt)
    ]
    return sorted(lines, key=lambda line: line[0])


def _calls_of(attempt: Attempt) -> Iterator[tuple[EventFacts, str]]:
    """The events of an attempt with which a call ended. A refused call has failed too, so it is there already."""
    for event in attempt.events:
        if event.kind == EventKind.CALL_FAILED:
            yield event, error_text(event.detail) or "failed"
        elif event.kind == EventKind.INQUIRED and event.detail.get("finding") == "done":
            yield event, "found to be done"
        elif event.kind in DONE and not was_found(attempt):
            yield event, ENDINGS[event.kind]
        elif event.kind == EventKind.AWAITING:
            yield event, "taken, and the answer comes later"
        elif event.kind in REFUSED and not attempt.failed_calls:
            yield event, error_text(event.detail.get("error")) or ENDINGS.get(event.kind, "failed")
        elif event.kind in UNANSWERED and not attempt.failed_calls:
            yield event, "no answer"
