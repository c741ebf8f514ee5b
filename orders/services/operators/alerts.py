"""What operators do with a group of alerts: acknowledge it, and write beside it."""

from django.db import transaction

from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import database_now
from orders.models import AlertGroup, GroupNote
from orders.services import audit

LONGEST_NOTE = 2_000


class NoSuchGroupError(SaswebError):
    """Raised when there is no such group of alerts."""


class EmptyNoteError(SaswebError):
    """Raised when a note says nothing."""


def acknowledge(*, group_id: int, actor: audit.Actor, reason: str = "") -> AlertGroup:
    """Says that somebody has seen a group and sees to it. Raises `NoSuchGroupError`."""
    with transaction.atomic():
        group = _locked(group_id)
        return _change(group, actor=actor, act="acknowledge", by=actor.name, reason=reason)


def unacknowledge(*, group_id: int, actor: audit.Actor, reason: str = "") -> AlertGroup:
    """Takes an acknowledgement back. Raises `NoSuchGroupError`."""
    with transaction.atomic():
        group = _locked(group_id)
        if group.acknowledged_at is None:
            return group
        return _change(group, actor=actor, act="unacknowledge", by="", reason=reason)


def add_note(*, group_id: int, actor: audit.Actor, text: str) -> GroupNote:
    """Writes a note beside a group. Raises `NoSuchGroupError` and `EmptyNoteError`."""
    said = text.strip().replace("\x00", "")[:LONGEST_NOTE]
    if not said:
        raise EmptyNoteError("a note needs some text")
    with transaction.atomic():
        group = _locked(group_id)
        note = GroupNote.objects.create(group=group, by=actor.name, text=said)
        audit.record(actor=actor, act="note", target=f"group {group.pk}", said=said, after={"note": note.pk})
    return note


def _locked(group_id: int) -> AlertGroup:
    group = AlertGroup.objects.select_for_update(no_key=True).filter(pk=group_id).first()
    if group is None:
        raise NoSuchGroupError(f"there is no group of alerts {group_id}")
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
        said=f"{group.kind} {group.agent} {group.code}",
        reason=reason,
        before={"acknowledged_by": before},
        after={"acknowledged_by": by},
    )
    return group
