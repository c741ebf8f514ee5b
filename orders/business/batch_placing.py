"""Posts many orders to the submission queue at once, each whatever becomes of the others (S1, S3)."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from orders.business.kinds import OrderKind
from orders.business.order_ids import another_order_id, derived_order_id
from orders.business.placing import (
    IntakePausedError,
    KeyReusedError,
    NewOrder,
    PostedOrder,
    ReferenceTakenError,
    check_intake,
    message_of,
    post_with_own_number,
    replayed,
)
from orders.business.placing_spans import trace_placing
from orders.business.reading import BadOrderError
from orders.engine.channels.many_submissions import KeyedSubmission, post_many
from orders.engine.channels.submission_records import IdempotencyRecord, UsedWords, find_records
from orders.engine.contracts import Json
from orders.engine.runtime.sql import is_database_trouble


class KeyedOrder(NamedTuple):
    """An order with its client, and the idempotency key that this one gave it."""

    client: str
    key: str
    order: NewOrder


_Key: TypeAlias = tuple[str, str]
"""A client, and one of its idempotency keys."""

Outcome: TypeAlias = PostedOrder | Exception
"""What `post_order` returns or raises."""


def post_orders(orders: Sequence[KeyedOrder], *, patience: float | None = None) -> list[Outcome]:
    """Posts orders as `post_order` does, one after the other, and says of each what that would have returned or raised.

    All that are new are posted in one transaction. Takes a few statements, and those of their kinds. Raises what the
    database raises: then no order is posted, unless the connection was lost while it committed. `patience` is that of
    `post_many`.
    """
    began = time.time()
    messages = _messages([order for _, _, order in orders])
    posts: dict[_Key, KeyedSubmission] = {}
    for (client, key, order), message in zip(orders, messages, strict=True):
        if not isinstance(message, Exception) and (client, key) not in posts:
            order_id = derived_order_id(client=client, key=key)
            posts[client, key] = KeyedSubmission(
                order_id, client, message, key, order.fingerprint(), order.words.reference_hash
            )
    posted = post_many(list(posts.values()), patience=patience)
    records = {
        key: _post_with_another_id(post) if record.number_is_taken else record
        for (key, post), record in zip(posts.items(), posted, strict=True)
    }
    refused = [
        UsedWords(client, key, order.words.reference_hash)
        for client, key, order in orders
        if (client, key) not in posts
    ]
    records |= {(words.client, words.key or ""): record for words, record in find_records(refused).items()}
    outcomes = _outcomes(orders, messages, records)
    for (_, _, order), outcome in zip(orders, outcomes, strict=True):
        if isinstance(outcome, PostedOrder) and not outcome.replayed:
            trace_placing(outcome.order_id, order.kind.name, order.traceparent, began=began)
    return outcomes


def _post_with_another_id(post: KeyedSubmission) -> IdempotencyRecord:
    """Posts an order by itself whose number is taken."""
    rest = {name: value for name, value in post._asdict().items() if name != "order_id"}
    return post_with_own_number(another_order_id(post.order_id), **rest)


def _outcomes(
    orders: Sequence[KeyedOrder],
    messages: Sequence[Json | Exception],
    records: Mapping[_Key, IdempotencyRecord],
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    placed = {key: record for key, record in records.items() if record.posted_at is None}
    for (client, name, order), message in zip(orders, messages, strict=True):
        key = (client, name)
        if isinstance(message, Exception):
            # What was placed stands, although it could not be placed today, or its kind has a fault today.
            outcomes.append(_replayed(order, placed[key]) if key in placed else message)
        elif key in placed:
            outcomes.append(_replayed(order, placed[key]))
        else:
            placed[key] = records[key]
            record = records[key]
            outcomes.append(
                PostedOrder(
                    order_id=record.order_id, replayed=False, body=message, posted_at=record.posted_at
                )
            )
    return outcomes


def _replayed(order: NewOrder, record: IdempotencyRecord) -> Outcome:
    try:
        return replayed(record, order.fingerprint())
    except (KeyReusedError, ReferenceTakenError) as error:
        return error


def _messages(orders: Sequence[NewOrder]) -> list[Json | Exception]:
    """The message of each order, or why it has none."""
    try:
        check_intake()
    except IntakePausedError as error:
        return [error] * len(orders)
    numbers: dict[type[OrderKind], list[int]] = defaultdict(list)
    for number, order in enumerate(orders):
        numbers[order.kind].append(number)
    messages: dict[int, Json | Exception] = {}
    for kind, own in numbers.items():
        described = _describe_all(kind, [orders[number].request for number in own])
        messages |= {
            number: _message(orders[number], data) for number, data in zip(own, described, strict=True)
        }
    return [messages[number] for number in range(len(orders))]


def _describe_all(kind: type[OrderKind], requests: Sequence[Json]) -> Sequence[Json | Exception]:
    """What a kind makes of its own orders. If it fails altogether, that is no mistake of the others."""
    try:
        described = kind.describe_all(requests)
    except Exception as error:  # noqa: BLE001 - of this kind, whatever it is; the others go on
        described = [error] * len(requests)
    for data in described:
        if isinstance(data, Exception) and is_database_trouble(data):
            raise data
    return described


def _message(order: NewOrder, data: Json | Exception) -> Json | Exception:
    if isinstance(data, Exception):
        return data
    try:
        return message_of(order, data)
    except BadOrderError as error:
        return error
