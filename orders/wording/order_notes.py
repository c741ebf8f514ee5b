"""Operators' notes on an order among the entries of its history. Pure."""

from collections.abc import Iterable, Sequence
from heapq import merge

from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.order_notes import Note
from orders.vocabulary import ActorKind
from orders.wording.events import EventEntry

NOTE = "note"
"""Stands for the kind of an event, and is none of them: see docs/adr/0074."""


def with_notes(events: Iterable[EventFacts], notes: Sequence[Note]) -> list[EventFacts]:
    """The events, the earliest first, and between them the notes, of which the newest comes first."""
    return list(merge(events, map(_facts, reversed(notes)), key=lambda event: event.at))


def _facts(note: Note) -> EventFacts:
    return EventFacts(
        at=note.at,
        kind=NOTE,
        step="",
        attempt=0,
        actor_kind=ActorKind.OPERATOR.value,
        actor_name=note.by,
        detail={"text": note.text},
    )


def note_entry(note: EventFacts) -> EventEntry:
    """A note as the order's page shows it: all of its text."""
    return EventEntry(
        event=note, sentence=f"Note: {note.detail['text']}", tone=NOTE, key="", detail="", retry_at=None
    )
