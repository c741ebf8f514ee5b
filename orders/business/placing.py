"""Posts orders of any kind to the submission queue, each once for its key (S1)."""

import hashlib
import json
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _
from uuid_utils.compat import uuid7

from orders.business import intake_pause
from orders.business.kinds import OrderKind
from orders.business.order_ids import another_order_id, derived_order_id
from orders.business.own_words import NO_WORDS, OwnWords
from orders.business.placing_spans import trace_placing
from orders.business.submissions import DEFAULT_PRIORITY, compose
from orders.engine.channels import submissions
from orders.engine.channels.submission_records import IdempotencyRecord, find_record
from orders.engine.contracts import Json
from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import is_database_trouble
from sasweb import traceparents

_REFERENCE = "\x1freference\x1f"
"""What makes a key of a reference: no client's key has control characters, and no business's own begins with one."""


class CannotBePlacedError(SaswebError):
    """Raised by `OrderKind.describe` when an order cannot be placed today, such as one for a product not on sale.

    `mistakes` has the text at its place in the request, for a REST client: `{"lines": [{}, {"sku": ["…"]}]}`.
    """

    def __init__(self, text: str, *, mistakes: Json | None = None) -> None:
        super().__init__(text)
        self.mistakes = mistakes or {"non_field_errors": [text]}


class IntakePausedError(CannotBePlacedError):
    """Raised while an operator has paused the intake: no new order is accepted. It is worth trying again after `wait`
    seconds."""

    def __init__(self, *, wait: int) -> None:
        super().__init__(_("We are not taking orders at the moment. Please try again later."))
        self.wait = wait


class KeyReusedError(SaswebError):
    """Raised when a client reuses an idempotency key, which has placed the order `order_id`, for a different one."""

    def __init__(self, order_id: UUID) -> None:
        super().__init__("this Idempotency-Key was used for a different order")
        self.order_id = order_id


class ReferenceTakenError(SaswebError):
    """Raised when a client has an order with this reference already: `order_id`."""

    def __init__(self, order_id: UUID) -> None:
        super().__init__(f"order {order_id} has this reference already")
        self.order_id = order_id


@dataclass(frozen=True, kw_only=True)
class NewOrder:
    """An order to be placed. `request` is what its client asks for, checked; `OrderKind.describe` makes its data of
    that, unless it `is_described` already. `original` is what the client sent, if `request` may have more than that.
    `traceparent` is that of its request, which the order's trace links to. `tells_customer` says that its customer is
    emailed what becomes of it."""

    kind: type[OrderKind]
    request: Json
    original: Json | None = None
    is_described: bool = False
    subject: str = ""
    priority: int = DEFAULT_PRIORITY
    reply_to: str = ""
    words: OwnWords = NO_WORDS
    tells_customer: bool = False
    traceparent: str = field(default_factory=traceparents.current, compare=False)

    def fingerprint(self) -> str:
        """A hash of what the client asked for: the same order has the same one, whatever prices are today."""
        values = {**(self.original or self.request), "priority": self.priority, "reply_to": self.reply_to}
        if not self.kind.has_older_fingerprints:
            values["workflow"] = self.kind.name
        if self.subject:
            values["subject"] = self.subject
        values |= self.words.given
        return hashlib.sha256(json.dumps(values, sort_keys=True, default=repr).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class PostedOrder:
    """A placed order. `replayed` is true if an earlier call with the same key had already placed it.

    `body` and `posted_at` are what is on the submission queue, if this call put it there and it is nowhere else.
    """

    order_id: UUID
    replayed: bool
    body: Json | None = None
    posted_at: datetime | None = None


def post_order(*, client: str, order: NewOrder, key: str | None) -> PostedOrder:
    """Posts an order to the submission queue (S1). Once this returns, the order cannot be lost (P1).

    The same client and key mean the same order, whose id follows from them, for as long as the order can be found.
    So does a reference, but placing another order with it is refused. Raises `CannotBePlacedError`, `KeyReusedError`,
    `ReferenceTakenError`, and `BadOrderError` for data that the queue could not carry. `IntakePausedError` is the first
    of these; an order that was placed before is replayed during a pause as well.

    The one statement that writes is a transaction of its own, unless the caller has begun one.
    """
    began = time.time()
    if key is not None or order.words.reference:
        posted = _post_once(client, order, key)
    else:
        posted = _post_new(client, message_today(order))
    if not posted.replayed:
        trace_placing(posted.order_id, order.kind.name, order.traceparent, began=began)
    return posted


def start(
    kind: type[OrderKind],
    subject: str | UUID | Model,
    data: Json,
    *,
    client: str,
    key: str,
    priority: int,
    reply_to: str,
    words: OwnWords = NO_WORDS,
) -> UUID:
    """Posts an order of checked data, and returns its id. See `OrderKind.start`."""
    order = NewOrder(
        kind=kind,
        request=kind.read(data),
        original=data,
        is_described=True,
        subject=subject_text(subject),
        priority=priority,
        reply_to=reply_to,
        words=words,
        tells_customer=True,
    )
    return post_order(client=client, order=order, key=own_key(kind, key)).order_id


def own_key(kind: type[OrderKind], key: str) -> str | None:
    """The idempotency key of a business's own start, which no client's key can be: those have no control characters."""
    return f"{kind.name}\x1f{key}" if key else None


def subject_text(subject: str | UUID | Model) -> str:
    """What a subject is stored as: a text as it is, a row as `app.model:key`."""
    return f"{subject._meta.label_lower}:{subject.pk}" if isinstance(subject, Model) else str(subject)


def _post_new(client: str, body: Json) -> PostedOrder:
    """Posts an order without a key. An id whose number is taken is not used."""
    while True:
        order_id = uuid7()
        if posted_at := submissions.post(order_id=order_id, client=client, body=body):
            return PostedOrder(order_id=order_id, replayed=False, body=body, posted_at=posted_at)


def _post_once(client: str, order: NewOrder, key: str | None) -> PostedOrder:
    body_hash = order.fingerprint()
    reference_hash = order.words.reference_hash
    try:
        body = message_today(order)
    except Exception as error:
        # What was placed stands, although it could not be placed today, or its kind has a fault today.
        if is_database_trouble(error):
            raise
        if record := find_record(client=client, key=key, reference_hash=reference_hash):
            return replayed(record, body_hash)
        raise
    order_id = derived_order_id(client=client, key=key or f"{_REFERENCE}{order.words.reference}")
    record = post_with_own_number(
        order_id, client=client, body=body, key=key, body_hash=body_hash, reference_hash=reference_hash
    )
    if record.posted_at is None:
        return replayed(record, body_hash)
    return PostedOrder(order_id=record.order_id, replayed=False, body=body, posted_at=record.posted_at)


def post_with_own_number(order_id: UUID, **submission: Any) -> IdempotencyRecord:
    """Posts an order by `submissions.post_once`. An id whose number is taken is not used, but the next one."""
    while (record := submissions.post_once(order_id=order_id, **submission)).number_is_taken:
        order_id = another_order_id(order_id)
    return record


def replayed(record: IdempotencyRecord, body_hash: str) -> PostedOrder:
    """The order that its key has placed already. Raises `KeyReusedError` if that was an order with another hash, and
    `ReferenceTakenError` if another key has placed one with its reference."""
    if record.by_reference:
        raise ReferenceTakenError(record.order_id)
    if record.body_hash != body_hash:
        raise KeyReusedError(record.order_id)
    return PostedOrder(order_id=record.order_id, replayed=True)


def check_reference(*, client: str, order: NewOrder) -> None:
    """Raises `ReferenceTakenError` if the client has placed an order with this one's reference already."""
    if reference_hash := order.words.reference_hash:
        record = find_record(client=client, key=None, reference_hash=reference_hash)
        if record is not None:
            raise ReferenceTakenError(record.order_id)


def check_intake() -> None:
    """Raises `IntakePausedError` while an operator has paused the intake. Takes up to a second to notice."""
    if (pause := intake_pause.known_pause()) is not None:
        raise IntakePausedError(wait=intake_pause.seconds_to_wait(pause))


def message_today(order: NewOrder) -> dict[str, Any]:
    """The message of an order that is placed now. Raises `CannotBePlacedError`, and `BadOrderError` as `compose`."""
    check_intake()
    return message_of(order, order.request if order.is_described else order.kind.describe(order.request))


def message_of(order: NewOrder, data: Json) -> dict[str, Any]:
    """The message: everything about an order with these data, as `describe` has completed them. Raises `BadOrderError`
    for data that the queue could not carry."""
    return compose(
        data,
        workflow=order.kind.name,
        subject=order.subject,
        priority=order.priority,
        reply_to=order.reply_to,
        placed_at=timezone.now(),
        words=order.words,
        tells_customer=order.tells_customer,
    )
