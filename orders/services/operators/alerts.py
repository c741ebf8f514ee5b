"""What operators may do with an alert group: acknowledge it, and add notes to it."""

from django.db import transaction

from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import database_now
from orders.fields.prose import tidy_prose
from orders.models import AlertGroup, GroupNote
from orders.services import audit

LONGEST_NOTE = 2_000
"""The most characters of a note. The rest is cut off."""
ACKNOWLEDGED = "Acknowledged. Others can see that you have seen it. Take it if you deal with it."
"""What whoever acknowledges a group is told."""


class NoSuchGroupError(SaswebError):
    """Raised when there is no such alert group."""


class EmptyNoteError(SaswebError):
    """Raised when a note is empty."""


def acknowledge(*, group_id: int, actor: audit.Actor, reason: str = "") -> AlertGroup:
    """Records that somebody has seen an alert group, which makes nobody its owner. Raises `NoSuchGroupError`."""
    with transaction.atomic():
        group = lock_group(group_id)
        return _change(group, actor=actor, act="acknowledge", by=actor.name, reason=reason)


def unacknowledge(*, group_id: int, actor: audit.Actor, reason: str = "") -> AlertGroup:
    """Withdraws an acknowledgement. Raises `NoSuchGroupError`."""
    with transaction.atomic():
        group = lock_group(group_id)
        if group.acknowledged_at is None:
            return group
        return _change(group, actor=actor, act="unacknowledge", by="", reason=reason)


def add_note(*, group_id: int, actor: audit.Actor, text: str) -> GroupNote:
    """Adds a note to an alert group. Raises `NoSuchGroupError` and `EmptyNoteError`."""
    note_text = tidy_prose(text, longest=LONGEST_NOTE)
    if not note_text:
        raise EmptyNoteError("a note needs some text")
    with transaction.atomic():
        group = lock_group(group_id)
        note = GroupNote.objects.create(group=group, by=actor.name, text=note_text)
        audit.record(
            actor=actor, act="note", target=f"group {group.pk}", result=note_text, after={"note": note.pk}
        )
    return note


def lock_group(group_id: int) -> AlertGroup:
    """Locks a group until the transaction ends. Raises `NoSuchGroupError`."""
    group = AlertGroup.objects.select_for_update(no_key=True).filter(pk=group_id).first()
    if group is None:
        raise NoSuchGroupError(f"unknown alert group {group_id}")
    return group


def _change(group: AlertGroup, *, actor: audit.Actor, act: str, by: str, reason: str) -> AlertGroup:
    before = group.acknowledged_by
    group.acknowledged_by = by
    group.acknowledged_at = database_now() if by else None
    group.save(update_fields=["acknowledged_by", "acknowledged_at"])
    audit.record(
        actor=actor,
        act=act,
        target=f"group {group.pk}",
        result=f"{group.kind} {group.agent} {group.code}",
        reason=reason,
        before={"acknowledged_by": before},
        after={"acknowledged_by": by},
    )
    return group
