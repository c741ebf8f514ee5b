"""What operators may do with the outbox: retry a failed message."""

from django.db import transaction
from django.db.models.functions import Now

from orders.engine.errors import SaswebError
from orders.models import OutgoingMessage
from orders.outbox.queue import patience
from orders.services import audit
from orders.vocabulary import MessageState


class NoSuchMessageError(SaswebError):
    """Raised when the outbox has no such message."""


class NotFailedError(SaswebError):
    """Raised when a message cannot be retried, because it has not failed."""


def retry(*, message_id: int, actor: audit.Actor, reason: str = "") -> OutgoingMessage:
    """Queues a failed message again. It may be retried for as long as a new one.

    A message that is already queued or being sent is returned unchanged, so a second click changes nothing. Raises
    `NoSuchMessageError` and `NotFailedError`.
    """
    with transaction.atomic():
        message = OutgoingMessage.objects.select_for_update().filter(pk=message_id).first()
        if message is None:
            raise NoSuchMessageError(f"the outbox has no message {message_id}")
        if message.state in (MessageState.QUEUED, MessageState.SENDING):
            return message
        if message.state != MessageState.FAILED:
            raise NotFailedError(f"The message is {message.state}, so it was not sent again.")
        before = {"state": message.state, "error": message.error}
        message.state = MessageState.QUEUED
        message.due_at = Now()
        message.ended_at = None
        message.give_up_at = Now() + patience(message.kind)
        message.save(update_fields=["state", "due_at", "ended_at", "give_up_at"])
        audit.record(
            actor=actor,
            act="retry message",
            target=f"message {message.pk}",
            result=f"The {message.kind.replace('_', ' ')} {message.channel} will be sent again.",
            reason=reason,
            before=before,
            after={"state": MessageState.QUEUED.value},
        )
    return message
