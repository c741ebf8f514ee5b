"""A time in which nobody could reach the database, and what customers are granted for it.

A customer whose card was declined has a time to choose another one. What she sends during an outage is not stored, and
her page sends it again once the database answers. Her order must not be cancelled a moment before.
"""

from datetime import datetime, timedelta

SILENCE = timedelta(seconds=5)
"""The least time without a pass that is taken for an outage. A scheduler makes a pass every second or so."""
STOPPAGE = timedelta(seconds=30)
"""The least time without a sweep, before the first pass, that is taken for one."""
GRANTED = timedelta(seconds=60)
"""What a customer has at least from the end of an outage on."""


class Silence:
    """The last outage that one scheduler has seen, by the database's clock. Outages in quick succession are one."""

    def __init__(self) -> None:
        self._seen_at: datetime | None = None
        self._since: datetime | None = None
        self._until: datetime | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether no pass has been noted yet."""
        return self._seen_at is None

    def note(self, now: datetime, *, swept_at: datetime | None = None) -> None:
        """Notes that the database could be reached. Before the first pass it is the last sweep that counts: everything
        may have stood still since."""
        seen_at, least = (self._seen_at, SILENCE) if self._seen_at else (swept_at, STOPPAGE)
        if seen_at is not None and now - seen_at >= least:
            is_another = self._until is None or self._until + GRANTED < seen_at
            self._since = seen_at if is_another else self._since
            self._until = now
        self._seen_at = now

    def granted_until(self, until: datetime) -> datetime:
        """When a customer’s time ends that was to end at `until`: later if that was in an outage, or soon after."""
        if self._since is None or self._until is None or until < self._since:
            return until
        return max(until, self._until + GRANTED)
