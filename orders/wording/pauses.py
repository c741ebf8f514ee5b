"""What is paused, by whom and why, in sentences. Pure."""

from datetime import datetime


def until_in_words(until: datetime | None) -> str:
    """Until when a pause lasts: "until it is resumed" or "until 14:30 UTC on 26 November"."""
    return f"until {until:%H:%M} UTC on {until.day} {until:%B}" if until else "until it is resumed"
