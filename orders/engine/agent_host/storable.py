"""Makes what agents say storable, at the one place where it enters: agents are anybody's code."""

from typing import Any

from orders.engine.errors import Fault, Transient
from orders.engine.runtime.text import keepable, strict_json

LONGEST_CODE = 60
"""Characters of a fault's code; the width of its column."""
LONGEST_MESSAGE = 2_000
"""Characters of a fault's message that are kept."""
LONGEST_WAIT = 3_600.0
"""Seconds that an agent can make a step wait at once. It may ask again."""
LARGEST_ANSWER = 1_000_000
"""Characters of an answer as JSON."""


def make_storable(fault: Fault) -> None:
    """Bounds and cleans a fault's code and message, and the wait that it asks for."""
    fault.code = "_".join(safe_text(fault.code)[:LONGEST_CODE].split()) or "unknown"
    message = safe_text(fault.message)
    fault.message = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"
    if isinstance(fault, Transient):
        fault.retry_after = _wait(fault.retry_after)


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


def safe_text(value: object) -> str:
    """The value as text that can be stored, even if it cannot say what it is."""
    try:
        return keepable(str(value))
    except Exception:  # noqa: BLE001 - an agent's own class may raise anything
        return type(value).__name__
