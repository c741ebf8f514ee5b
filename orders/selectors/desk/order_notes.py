"""The notes that operators have left on orders."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from orders.models import OrderNote

SHOWN = 200
"""The most notes that an order is shown with, and the most that are read for a hand-over."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """A note on an order."""

    order_id: UUID
    at: datetime
    by: str
    text: str


def notes_of(order_id: UUID) -> list[Note]:
    """The notes on an order, the newest first. One query."""
    return _read(OrderNote.objects.filter(order_id=order_id).order_by("-id")[:SHOWN])


def notes_since(since: datetime) -> list[Note]:
    """The notes on orders since a time, the newest first, among the last that were written. One query."""
    return [note for note in _read(OrderNote.objects.order_by("-id")[:SHOWN]) if note.at >= since]


def _read(rows: Iterable[OrderNote]) -> list[Note]:
    return [Note(order_id=row.order_id, at=row.at, by=row.by, text=row.text) for row in rows]
