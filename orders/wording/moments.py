"""Moments by the clock, in UTC, as a list of them is read. Pure."""

from datetime import UTC, date, datetime


def minute(at: datetime, *, today: date) -> str:
    """The time of day, with the date if it is another day: "13:02", "26 Nov 13:02"."""
    utc = at.astimezone(UTC)
    day = "" if utc.date() == today else f"{utc.day} {utc:%b} "
    return f"{day}{utc:%H:%M}"


def span(began: datetime, ended: datetime, *, today: date) -> str:
    """From when to when: "13:02 to 13:10", "26 Nov 23:50 to 00:10"."""
    day = began.astimezone(UTC).date()
    of_end = day if ended.astimezone(UTC).date() == day else today
    return f"{minute(began, today=today)} to {minute(ended, today=of_end)}"
