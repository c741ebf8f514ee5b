"""The outbox: every email and alert webhook that is not a step of a workflow.

A message is posted in the transaction that causes it, and sent by the jobs process:

    post ─▶ queued ─claim▶ sending ─▶ sent
               ▲              ├─▶ skipped   there was nothing to say: no such account, no such order
               └──retry, wait─┤
                              └─▶ failed    refused for good, or given up; an operator can retry it

Delivery is at least once. A claim is a lease: if a sender is killed, its message is sent again when the lease lapses,
with the same Message-ID. No lock and no transaction is open while a message is sent. What could not be sent is
rescheduled, with capped exponential backoff and full jitter, and no process sleeps meanwhile. Alerts have senders of
their own, one for each channel, which no customer's email can hold up (`orders.jobs`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import translation
from structlog.contextvars import bound_contextvars

from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.sql import database_now, is_database_trouble
from orders.models import AlertGroup, OutgoingMessage
from orders.models.outbox import Priority
from orders.outbox import (
    account_emails,
    alert_messages,
    approval_messages,
    handover_emails,
    order_link_emails,
    order_update_emails,
    webhook_emails,
)
from orders.outbox.content import Content, Delay
from orders.outbox.delivery import deliver
from orders.vocabulary import MessageChannel, MessageKind, MessageState
from sasweb.mail_server import NotSentError

log = structlog.get_logger()

FIRST_WAIT = 10.0
LONGEST_WAIT = 900.0
"""In seconds: the longest wait after the first failure, which doubles with each, and the longest after any."""
GIVE_UP_AFTER: Mapping[str, timedelta] = {MessageKind.ALERT: timedelta(days=3)}
"""How long a message is retried. An alert outlasts a weekend without a mail server."""
GIVE_UP_CUSTOMERS_AFTER = timedelta(days=1)
"""The same for customers: a link that arrives days after it was asked for only puzzles them."""
LEASE = timedelta(seconds=60)
"""How long a sender has a message to itself: far longer than one attempt can take."""
LIMIT = 20
PASS = 3.0
"""Messages that one pass sends at most, and the seconds after which it starts no other."""

Composer = Callable[[OutgoingMessage], Sequence[Content] | Delay]

COMPOSERS: Mapping[str, Composer] = {
    MessageKind.ALERT: alert_messages.compose,
    MessageKind.ORDER_LINK: order_link_emails.compose,
    MessageKind.SIGN_UP: account_emails.compose_sign_up,
    MessageKind.NEW_PASSWORD: account_emails.compose_new_password,
    MessageKind.WEBHOOK_OFF: webhook_emails.compose,
    MessageKind.HANDOVER: handover_emails.compose,
    MessageKind.APPROVAL: approval_messages.compose,
    MessageKind.ORDER_UPDATE: order_update_emails.compose,
}
"""What a message of each kind says; nothing, when there is no reason to send it."""
FOR_OPERATORS = frozenset({MessageKind.ALERT, MessageKind.APPROVAL})
"""The kinds that go to all operators, before any customer's, by the channels of the alerts."""
AFTERWARDS: Mapping[str, Callable[[OutgoingMessage], None]] = {
    MessageKind.ORDER_LINK: order_link_emails.record_sent
}
"""Called in the transaction that marks a message of that kind as sent."""


def post(
    *,
    kind: MessageKind,
    recipient: str,
    channel: MessageChannel = MessageChannel.EMAIL,
    arguments: Mapping[str, Any] | None = None,
    order_id: UUID | None = None,
    group: AlertGroup | None = None,
    key: str | None = None,
    after: timedelta = timedelta(),
) -> None:
    """Puts a message into the outbox, in the caller's transaction, to be sent `after` a while.

    The arguments are stored and must hold no secret.
    """
    message = OutgoingMessage(
        kind=kind,
        channel=channel,
        recipient=recipient[:300],
        arguments=dict(arguments or {}),
        order_id=order_id,
        group=group,
        key=key,
        priority=Priority.ALERT if kind in FOR_OPERATORS else Priority.CUSTOMER,
        due_at=Now() + after,
        give_up_at=Now() + after + patience(kind),
    )
    insert(message)


def key_of_attempt(kind: MessageKind, attempt: str, about: object = "") -> str | None:
    """The key of the message that a form requests, which may come again after an outage; None if it has no key."""
    return f"{kind} {attempt} {about}".rstrip() if attempt else None


def insert(message: OutgoingMessage) -> None:
    """Inserts a message, unless there is one with its key: of two the first counts. A second waits for the first one's
    transaction, and is no error for the database, which would log it."""
    OutgoingMessage.objects.bulk_create([message], ignore_conflicts=True)


def patience(kind: str) -> timedelta:
    """How long a message of this kind is tried."""
    return GIVE_UP_AFTER.get(kind, GIVE_UP_CUSTOMERS_AFTER)


def deliver_due(
    *,
    priority: Priority | None = None,
    channel: MessageChannel | None = None,
    now: datetime | None = None,
    limit: int = LIMIT,
    seconds: float = PASS,
) -> int:
    """One pass: tries what is due at `now`, alerts first, each message once. Returns how many were sent.

    With a `priority` or a `channel` it leaves all other messages alone. Several processes may run it at once; they
    share the work.
    """
    now = now or database_now()
    fields = {"priority": priority, "channel": channel}
    filters = {field: value for field, value in fields.items() if value is not None}
    ends = time.monotonic() + seconds
    sent = 0
    for _ in range(limit):
        message = _claim(now, filters)
        if message is None:
            break
        with bound_contextvars(**_order_of(message)):
            sent += _try(message)
        if time.monotonic() >= ends:
            break
    return sent


def deliver_alerts(*, channel: MessageChannel | None = None) -> int:
    """One pass over the alerts alone, or those of one channel. Returns how many were sent."""
    return deliver_due(priority=Priority.ALERT, channel=channel)


def deliver_customers_emails() -> int:
    """One pass over customers' emails alone. Returns how many were sent."""
    return deliver_due(priority=Priority.CUSTOMER)


def _claim(now: datetime, filters: Mapping[str, Any]) -> OutgoingMessage | None:
    """Leases the next of the chosen messages that is due: one that waits, or one whose sender's lease has lapsed.

    Safe beside others: a row that another sender is claiming is locked, and passed over. A kind of message that this
    release does not know is left to the newer release that has written it.
    """
    with transaction.atomic():
        message = (
            OutgoingMessage.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
            .select_related("group")
            .filter(due_at__lte=now, kind__in=list(COMPOSERS), **filters)
            .order_by("priority", "due_at")
            .first()
        )
        if message is not None:
            message.state = MessageState.SENDING
            message.attempts += 1
            message.due_at = database_now() + LEASE
            message.save(update_fields=["state", "attempts", "due_at"])
    return message


def _try(message: OutgoingMessage) -> bool:
    """One attempt, outside of any transaction. True if the message was sent."""
    try:
        contents = _compose(message)
        if isinstance(contents, Delay):
            _wait(message, contents)
            return False
        for number, content in enumerate(contents):
            deliver(content, message_id=_message_id(message, number))
    except NotSentError as error:
        _put_off(message, str(error), is_final=error.is_final)
        return False
    except Exception as error:  # a message that cannot be composed must not stop the others
        if is_database_trouble(error):
            raise  # not the message's fault: it is tried again when the lease lapses
        log.exception("message not composed", action="send", **_facts(message))
        _put_off(message, f"could not be composed: {type(error).__name__}: {error}")
        return False
    return _finish(message, MessageState.SENT if contents else MessageState.SKIPPED)


def _compose(message: OutgoingMessage) -> Sequence[Content] | Delay:
    with translation.override(message.arguments.get("language", "en")):
        return COMPOSERS[message.kind](message)


def _message_id(message: OutgoingMessage, number: int) -> str:
    """The same for every attempt. The time is in it because numbers begin again in another database."""
    host = urlsplit(settings.CONFIG.public_url).hostname or "localhost"
    return f"outbox-{message.pk}-{number}.{message.created_at:%Y%m%d%H%M%S%f}@{host}"


def _finish(message: OutgoingMessage, state: MessageState) -> bool:
    """Marks a message as sent, or as not needed. True if it was sent."""
    with transaction.atomic():
        is_written = _write(message, state=state, error="", due_at=None, ended_at=database_now())
        if is_written and state == MessageState.SENT and message.kind in AFTERWARDS:
            AFTERWARDS[message.kind](message)
    if is_written:
        log.info(
            "message sent" if state == MessageState.SENT else "message not needed",
            action="send",
            **_facts(message),
        )
    return state == MessageState.SENT


def _wait(message: OutgoingMessage, delay: Delay) -> None:
    """Reschedules a message of which it is not known yet whether it has anything to say."""
    _write(message, state=MessageState.QUEUED, error=delay.reason, due_at=database_now() + delay.wait)
    log.info("message waits", action="send", reason=delay.reason, **_facts(message))


def _put_off(message: OutgoingMessage, error: str, *, is_final: bool = False) -> None:
    """Reschedules a message that was not sent, or fails it if it was refused for good or has been tried for too
    long."""
    error = error.replace(message.recipient, "the recipient")[:300]
    now = database_now()
    if is_final or now >= message.give_up_at:
        _write(message, state=MessageState.FAILED, error=error, due_at=None, ended_at=now)
        log.error("message failed", action="send", error=error, **_facts(message))
        return
    wait = full_jitter(message.attempts, first=FIRST_WAIT, cap=LONGEST_WAIT)
    _write(message, state=MessageState.QUEUED, error=error, due_at=now + timedelta(seconds=wait))
    log.warning("message not sent", action="send", error=error, wait=round(wait, 1), **_facts(message))


def _write(message: OutgoingMessage, **changes: Any) -> bool:
    """Writes the end of an attempt, unless the lease has lapsed and another sender has the message now."""
    current_attempt = OutgoingMessage.objects.filter(
        pk=message.pk, state=MessageState.SENDING, attempts=message.attempts
    )
    is_written = current_attempt.update(**changes) == 1
    if not is_written:
        log.warning("lease lapsed while sending", action="send", **_facts(message))
    return is_written


def _facts(message: OutgoingMessage) -> dict[str, Any]:
    """What a log line says about a message: never its recipient, never its text."""
    return {
        **_order_of(message),
        "message_id": message.pk,
        "kind": message.kind,
        "channel": message.channel,
        "attempts": message.attempts,
    }


def _order_of(message: OutgoingMessage) -> dict[str, str]:
    """The id of the order that a message is about, for every line about it: also those of libraries."""
    return {"order_id": str(message.order_id)} if message.order_id else {}
