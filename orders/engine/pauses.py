"""When an order that an operator has paused is next due for a scheduler (docs/adr/0065)."""

from datetime import datetime, timedelta

LOOK = timedelta(days=1)
"""How soon a scheduler looks again at an order that is paused until somebody resumes it, which wakes it anyway."""


def rest_until(until: datetime | None, now: datetime) -> datetime:
    """When an order that is paused until then, or until it is resumed, is next due."""
    return until or now + LOOK
