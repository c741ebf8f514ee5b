"""Makes what agents say storable, at the one place where it enters: agents are anybody's code."""

from collections.abc import Mapping
from typing import Any

from orders.engine.contracts import Pending
from orders.engine.errors import Fault, Refused, Transient, Unresolved
from orders.engine.results import find_gaps, say_gaps
from orders.engine.runtime.text import keepable, short_code, strict_json

LONGEST_MESSAGE = 2_000
"""Characters of a fault's message that are kept."""
LONGEST_FAULT_DETAIL = 4_000
"""Characters of what a fault says beside its message, as JSON."""
LONGEST_EXCHANGE = 12_000
"""Characters of what was sent and answered in a call that failed, as JSON."""
SHORT_EXCHANGE = 1_000
"""The same of one that succeeded: nearly all do, so each order pays for them."""
LONGEST_WAIT = 3_600.0
"""Seconds that an agent can make a step wait at once. It may ask again."""
LONGEST_PENDING = 366 * 86_400.0
"""Seconds that a remote service can take to answer later."""
SHORTEST_POLL = 1.0
"""Seconds. What is answered sooner is not worth being parked."""
LONGEST_REFERENCE = 200
"""Characters of what a remote service calls a matter."""
LARGEST_ANSWER = 1_000_000
"""Characters of an answer as JSON."""


class IncompleteResult(Unresolved):
    """Raised when an answer lacks what the step's result must hold. The effect may have happened, and a retry gets the
    same answer. `answer` is kept for operators, unless it is too long for the history."""

    def __init__(self, agent: str, gaps: Mapping[str, str], answer: Any, size: int) -> None:
        super().__init__("incomplete_result", f"the answer of {agent} is incomplete: {say_gaps(gaps)}")
        self.answer = answer if size <= LONGEST_MESSAGE else None


def make_storable(fault: Fault) -> None:
    """Bounds and cleans a fault's code, message and detail, and the wait that it asks for."""
    fault.code = short_code(safe_text(fault.code))
    message = safe_text(fault.message)
    fault.message = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"
    fault.exchange = _exchange(fault.exchange, LONGEST_EXCHANGE)
    if isinstance(fault, Refused):
        fault.detail = _fault_detail(fault.detail)
    if isinstance(fault, Transient):
        fault.retry_after = _wait(fault.retry_after)


def short_exchange(exchange: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What was sent and answered in a call that succeeded; None if it cannot be stored, or is too long for that."""
    return _exchange(exchange, SHORT_EXCHANGE)


def _exchange(exchange: Mapping[str, Any] | None, longest: int) -> Mapping[str, Any] | None:
    try:
        return exchange if len(strict_json(exchange)) <= longest else None
    except (TypeError, ValueError):
        return None


def _fault_detail(detail: object) -> Mapping[str, Any] | None:
    """What a refusal says beside its message; None if that is no object, cannot be stored, or is too long."""
    return _exchange(detail, LONGEST_FAULT_DETAIL) if isinstance(detail, Mapping) else None


def fault_body(fault: Fault) -> dict[str, Any]:
    """A fault as a reply says it."""
    detail = fault.detail if isinstance(fault, Refused) else None
    return {"code": fault.code, "message": fault.message, **({"detail": detail} if detail else {})}


def _wait(wait: object) -> float | None:
    """A wait in seconds, within `LONGEST_WAIT`; None if it is no number above 0."""
    if not isinstance(wait, int | float) or not wait > 0:  # not NaN either
        return None
    return float(min(wait, LONGEST_WAIT))


def answer_text(answer: Any) -> str:
    """An agent's answer as JSON. Raises `ValueError` or `TypeError` if it cannot be stored as it is."""
    text = strict_json(answer)
    if len(text) > LARGEST_ANSWER:
        raise ValueError(f"the answer has more than {LARGEST_ANSWER:,} characters")
    return text


def result_text(answer: Any, *, agent: str, types: Mapping[str, str]) -> str:
    """An agent's answer as JSON, if it holds fields of these types by their names. Raises `IncompleteResult`, and what
    `answer_text` raises."""
    text = answer_text(answer)
    if gaps := find_gaps(answer if isinstance(answer, Mapping) else {}, types):
        raise IncompleteResult(agent, gaps, answer, len(text))
    return text


def pending_text(pending: Pending) -> str:
    """What an agent says of an answer that comes later, as JSON. Raises `ValueError` if it cannot be kept like that."""
    within, poll_after = pending.within, pending.poll_after
    if not _is_number(within) or not 0 < within <= LONGEST_PENDING:
        raise ValueError(f"within is a time of at most {LONGEST_PENDING:.0f} s")
    if poll_after is not None and (not _is_number(poll_after) or not poll_after >= SHORTEST_POLL):
        raise ValueError(f"poll_after is a time of at least {SHORTEST_POLL:.0f} s")
    if len(pending.reference) > LONGEST_REFERENCE:
        raise ValueError(f"the reference has more than {LONGEST_REFERENCE} characters")
    polls = poll_after if poll_after is not None and poll_after < within else None
    return strict_json({"within": within, "reference": pending.reference, "poll_after": polls})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def safe_text(value: object) -> str:
    """The value as text that can be stored, even if it cannot say what it is."""
    try:
        return keepable(str(value))
    except Exception:  # noqa: BLE001 - an agent's own class may raise anything
        return type(value).__name__
