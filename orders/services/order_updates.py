"""Tells customers by email what becomes of their orders, and not what they have just seen (docs/adr/0077).

One process reads on in the events that customers are told of, and looks now and then for orders that are late. Each
finding is a message of the outbox, posted once by its key, in one transaction with the place of the reader. It is due a
little later. If the customer sees it meanwhile on the order's page, it is skipped, or put off while the order waits
for her.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import DatabaseError, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest, Now

from orders.business import registry
from orders.business.updates import OrderUpdate
from orders.engine.runtime.sql import database_now
from orders.fields.locales import known_language
from orders.models import OrderUpdateReader, OutgoingMessage
from orders.outbox import queue
from orders.outbox.order_update_emails import IS_REMINDER
from orders.selectors.order_updates import (
    Place,
    Telling,
    first_place,
    late_orders,
    tellings_after,
)
from orders.selectors.tracked_orders import TrackedOrder, addressee_of
from orders.vocabulary import MessageKind, MessageState

log = structlog.get_logger()

HOLD = timedelta(seconds=30)
"""How long a message waits for its customer to see on the page what it says."""
LATE_PERIOD = timedelta(seconds=30)
"""How often orders are looked for that are late."""
LIMIT = 200
"""Events that one pass reads, and late orders that it finds, at most."""
SEEN_BEFORE = timedelta(minutes=10)
"""For how long after it happened the page may show something whose message is not posted yet: far longer than the
reader is behind."""
SEEN = "Its customer has seen it on the order’s page."


def post_updates() -> int:
    """One pass: posts what customers are to be told and are not told yet. Returns how many messages it posted.

    Several processes may run it at once: the place of the reader says which of them has posted.
    """
    reader = OrderUpdateReader.objects.first()
    if reader is None:
        _begin()
        return 0
    place, now = Place(reader.position, reader.event_id), database_now()
    tellings, until = tellings_after(place, limit=LIMIT)
    looks_for_late = now - reader.looked_for_late_at >= LATE_PERIOD
    if until == place and not looks_for_late:
        return 0
    with transaction.atomic():
        present = OrderUpdateReader.objects.filter(
            position=place.position, event_id=place.event_id, looked_for_late_at=reader.looked_for_late_at
        )
        if not present.select_for_update(skip_locked=True).exists():
            return 0  # another process was quicker
        late = (
            late_orders(_workflows_telling(OrderUpdate.LATE), now=now, limit=LIMIT) if looks_for_late else []
        )
        posted = sum(_post(telling) for telling in [*tellings, *late])
        # If there may be more that are late, the next pass goes on at once.
        looked_at = now if looks_for_late and len(late) < LIMIT else reader.looked_for_late_at
        OrderUpdateReader.objects.update(
            position=until.position, event_id=until.event_id, looked_for_late_at=looked_at
        )
    return posted


def _begin() -> None:
    place = first_place()
    OrderUpdateReader.objects.get_or_create(
        pk=1,
        defaults={
            "position": place.position,
            "event_id": place.event_id,
            "looked_for_late_at": database_now() - LATE_PERIOD,
        },
    )


def _workflows_telling(update: OrderUpdate) -> Sequence[str]:
    return [kind.name for kind in registry.kinds() if update in kind.updates]


def _post(telling: Telling, *, after: timedelta = HOLD, is_reminder: bool = False) -> bool:
    if telling.workflow not in _workflows_telling(telling.update):
        return False
    arguments = {"update": telling.update, "language": known_language(telling.language)}
    queue.post(
        kind=MessageKind.ORDER_UPDATE,
        recipient=telling.email,
        order_id=telling.order_id,
        key=telling.key,
        arguments=arguments | ({IS_REMINDER: True} if is_reminder else {}),
        after=after,
    )
    return True


def note_seen(
    tracked: TrackedOrder, *, update: OrderUpdate, key: str, waits_until: datetime | None, now: datetime
) -> None:
    """Notes that an order's customer sees this on its page, so that she is not told by email at once as well.

    The message is skipped. If the order waits for her until a moment, `waits_until`, it is put off to halfway there,
    and no further when she looks again: she may have closed the page and forgotten it. A message that is not posted
    yet, as the page is often quicker, is posted as skipped or put off, so something is written once for each thing to
    tell, at most. A page does not fail because this could not be written.
    """
    messages = OutgoingMessage.objects.filter(
        order_id=tracked.order.id, kind=MessageKind.ORDER_UPDATE, arguments__update=update
    )
    reminds_after = (waits_until - now) / 2 if waits_until and waits_until > now else None
    posted = list(messages.values_list("key", "state", f"arguments__{IS_REMINDER}"))
    is_waiting = any(
        state == MessageState.QUEUED and not (reminds_after and posted_key == key and is_reminder)
        for posted_key, state, is_reminder in posted
    )
    is_new = all(posted_key != key for posted_key, _, _ in posted) and _is_recent(tracked, now)
    if not is_waiting and not (is_new and _is_told(tracked)):
        return
    try:
        with transaction.atomic():
            if is_new:
                _post_seen(tracked, update=update, key=key, reminds_after=reminds_after)
            waiting = messages.filter(state=MessageState.QUEUED)
            if reminds_after:
                _put_off(waiting.filter(key=key), after=reminds_after)
                waiting = waiting.exclude(key=key)  # of what was declined before
            waiting.update(**_ended_as_seen())
    except DatabaseError as error:
        order_id = str(tracked.order.id)
        log.warning("not noted as seen", action="note_seen", order_id=order_id, error=str(error))


def _post_seen(
    tracked: TrackedOrder, *, update: OrderUpdate, key: str, reminds_after: timedelta | None
) -> None:
    """Posts what the customer has seen before the reader found it: to be sent after that time, or else as skipped."""
    order_id, email = tracked.order.id, tracked.email
    if reminds_after:
        telling = Telling(
            order_id=order_id,
            workflow=tracked.order.workflow,
            update=update,
            key=key,
            email=email,
            language=str(tracked.data.get("language") or ""),
        )
        _post(telling, after=reminds_after, is_reminder=True)
        return
    queue.insert(
        OutgoingMessage(
            key=key,
            kind=MessageKind.ORDER_UPDATE.value,
            recipient=email[:300],
            order_id=order_id,
            arguments={"update": update},
            give_up_at=Now(),
            **_ended_as_seen(),
        )
    )


def _put_off(waiting: QuerySet[OutgoingMessage], *, after: timedelta) -> None:
    """Puts off a message that waits, unless that was done before."""
    for message in waiting.select_for_update(no_key=True):
        if IS_REMINDER in message.arguments:
            continue
        message.arguments = {**message.arguments, IS_REMINDER: True}
        message.due_at = Greatest(F("due_at"), Now() + after)
        message.give_up_at = Greatest(F("give_up_at"), Now() + after + queue.patience(message.kind))
        message.save(update_fields=["arguments", "due_at", "give_up_at"])


def _ended_as_seen() -> dict[str, Any]:
    return {"state": MessageState.SKIPPED.value, "due_at": None, "ended_at": Now(), "error": SEEN}


def _is_recent(tracked: TrackedOrder, now: datetime) -> bool:
    order = tracked.order
    moments = [order.updated_at, *([order.promised_by] if order.promised_by else [])]
    return not order.is_archived and any(now - moment < SEEN_BEFORE for moment in moments)


def _is_told(tracked: TrackedOrder) -> bool:
    addressee = addressee_of(tracked.order.id)
    return addressee is not None and addressee.is_told
