"""The note of who leaves a shift, and the hand-over sent by email: to the address of the alerts or to an account."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from orders.access.levels import may_operate
from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import database_now
from orders.fields.prose import tidy_prose
from orders.models import HandoverNote, OutgoingMessage
from orders.outbox import queue
from orders.selectors.desk.handover import HOURS, refusal_of_range
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused
from orders.vocabulary import MessageKind

LONGEST_NOTE = 4_000
"""The most characters of a note."""
AGAIN = timedelta(minutes=1)
"""For how long a second click, or a second person, sends nothing more to the same recipient."""


NO_ADDRESS = (
    "Alerts have no email address. Choose an account, or have ALERT_EMAIL set where the product is configured and its "
    "processes restarted."
)
"""What whoever sends to the address of the alerts can do if there is none."""


class EmptyHandoverNoteError(SaswebError):
    """Raised when a note has no text."""


def add_note(*, actor: Actor, text: str, since: datetime | None = None) -> Result:
    """Stores the note of somebody who leaves; `since` is when her shift began, by default eight hours ago. The same
    note is stored once.

    Raises `EmptyHandoverNoteError`.
    """
    note_text = tidy_prose(text, longest=LONGEST_NOTE)
    if not note_text:
        raise EmptyHandoverNoteError("a note needs some text")
    with transaction.atomic():
        now = database_now()
        newest = HandoverNote.objects.select_for_update().order_by("-id").first()
        if (
            newest is not None
            and (newest.by, newest.text) == (actor.name, note_text)
            and newest.at > now - AGAIN
        ):
            return already("The note is already saved.")
        begun = since or now - timedelta(hours=HOURS[0])
        if problem := refusal_of_range(begun, now=now):
            return _record(actor, refused(problem), "write handover", "handover")
        note = HandoverNote.objects.create(by=actor.name, text=note_text, since=begun)
        result = done("The note is saved. The overview shows it for 24 hours, or until the next note.")
        audit.record(
            actor=actor,
            act="write handover",
            target=f"handover {note.pk}",
            result=note_text,
            after={"note": note.pk},
        )
    return result


def send(*, actor: Actor, since: datetime, to: str = "") -> Result:
    """Posts the hand-over since a time as an email to an operator's account or, without one, to the alerts' address."""
    with transaction.atomic():
        now = database_now()
        recipient, problem = _recipient(to)
        problem = refusal_of_range(since, now=now) or problem
        addressee = to or "the alerts’ address"
        target = f"handover to {addressee}"
        if problem:
            return _record(actor, refused(problem), "send handover", target)
        fields = {"kind": MessageKind.HANDOVER.value, "recipient": recipient}
        if OutgoingMessage.objects.filter(**fields, created_at__gt=now - AGAIN).exists():
            return already(f"It was sent to {addressee} a moment ago.")
        queue.post(
            kind=MessageKind.HANDOVER,
            recipient=recipient,
            arguments={"since": since.isoformat(), "by": actor.name},
            key=f"handover {recipient} {now:%Y-%m-%dT%H:%M}",
        )
        sent = done(f"The hand-over is on its way to {addressee}.")
        return _record(actor, sent, "send handover", target)


def _recipient(to: str) -> tuple[str, str]:
    """The email address, and what is wrong with the choice."""
    if not to:
        address = settings.CONFIG.alert_email
        return address, "" if address else NO_ADDRESS
    user = may_operate().filter(username=to).first()
    if user is None:
        return "", f"The account {to[:60]} is not an operator’s, or is closed."
    return user.email, "" if user.email else f"The account {to} has no email address."


def _record(actor: Actor, result: Result, act: str, target: str) -> Result:
    audit.record(
        actor=actor,
        act=act,
        target=target,
        result=result.message,
        allowed=result.status is ResultStatus.DONE,
    )
    return result
