"""The outbox as operators see it: what is waiting, what was sent, and what could not be sent.

It shows neither the text of a message nor the whole email address of a customer, because neither is needed to see
whether the mail server works.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from orders.models import OutgoingMessage
from orders.selectors.paging import Page, page_of
from orders.vocabulary import MessageKind, MessageState

SHOWN = 50
"""Messages on one page."""
VIEWS = {
    "": tuple(MessageState),
    "waiting": (MessageState.QUEUED, MessageState.SENDING),
    "failed": (MessageState.FAILED,),
    "sent": (MessageState.SENT,),
    "skipped": (MessageState.SKIPPED,),
}
"""The states that each view of the page shows."""


@dataclass(frozen=True, kw_only=True)
class MessageRow:
    """A message on the page. `due_at` is when it is tried next; None once it has ended. `skipped_because` is stored
    with one that was skipped before it was composed."""

    id: int
    kind: str
    channel: str
    recipient: str
    state: str
    attempts: int
    error: str
    created_at: datetime
    due_at: datetime | None
    ended_at: datetime | None
    group_id: int | None
    order_id: UUID | None
    skipped_because: str = ""

    @property
    def can_be_retried(self) -> bool:
        return self.state == MessageState.FAILED

    @property
    def is_skipped(self) -> bool:
        return self.state == MessageState.SKIPPED


def messages(*, view: str, before: int | None = None, limit: int = SHOWN) -> Page[MessageRow]:
    """One page of the messages that a view shows, or that are in a state, newest first, below number `before`. One
    query."""
    messages = OutgoingMessage.objects.filter(state__in=VIEWS.get(view, (view,)))
    if before is not None:
        messages = messages.filter(pk__lt=before)
    return page_of([_row(message) for message in messages.order_by("-id")[: limit + 1]], limit)


def find_message(message_id: int) -> MessageRow | None:
    """One message. One query."""
    message = OutgoingMessage.objects.filter(pk=message_id).first()
    return None if message is None else _row(message)


def mask(email: str) -> str:
    """An email address by its first letter and its domain: "a…@example.com"."""
    local, at, domain = email.rpartition("@")
    return f"{local[:1]}…{at}{domain}" if at else "…"


def _row(message: OutgoingMessage) -> MessageRow:
    is_skipped = message.state == MessageState.SKIPPED
    is_for_operators = message.kind in (MessageKind.ALERT, MessageKind.APPROVAL)
    return MessageRow(
        id=message.pk,
        kind=message.kind,
        channel=message.channel,
        recipient=message.recipient if is_for_operators else mask(message.recipient),
        state=message.state,
        attempts=message.attempts,
        error="" if is_skipped else message.error,
        skipped_because=message.error if is_skipped else "",
        created_at=message.created_at,
        due_at=message.due_at,
        ended_at=message.ended_at,
        group_id=message.group_id,
        order_id=message.order_id,
    )
