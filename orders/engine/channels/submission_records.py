"""What submissions are known by (S3): their clients' keys and references, and the numbers of their orders."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch


class IdempotencyRecord(NamedTuple):
    """The order that an idempotency key stands for, the hash of its body, and when this call posted it, by the
    database's clock; None if the order was there before. `by_reference` is whether it is only the reference of this
    call that stands for the order, and not the key. With `number_is_taken` nothing was posted: another order has the
    number of this one, which needs another id."""

    order_id: UUID
    body_hash: str
    posted_at: datetime | None = None
    by_reference: bool = False
    number_is_taken: bool = False


class UsedWords(NamedTuple):
    """What a client may have used before: an idempotency key and the hash of a reference, or one of them."""

    client: str
    key: str | None
    reference_hash: str | None


def find_record(
    *, client: str, key: str | None, reference_hash: str | None = None
) -> IdempotencyRecord | None:
    """Finds what this client has posted with an idempotency key or, if it has not used that, with a reference. Returns
    None if it has used neither."""
    words = UsedWords(client, key, reference_hash)
    return find_records([words]).get(words)


def find_records(words: Iterable[UsedWords]) -> dict[UsedWords, IdempotencyRecord]:
    """Finds what `find_record` finds, of many. What has not been used is left out. One statement, or none without
    words."""
    used = list(words)
    if not used:
        return {}
    rows = fetch(
        """
        SELECT used.number, record.order_id, record.body_hash, record.by_reference
          FROM unnest(%s::text[], %s::text[], %s::text[])
               WITH ORDINALITY AS used (client, key, reference_hash, number),
               LATERAL (
               SELECT order_id, body_hash, false AS by_reference
                 FROM orders_submissionkey
                WHERE client = used.client AND key = used.key
                UNION ALL
               SELECT order_id, body_hash, true
                 FROM orders_submissionkey
                WHERE client = used.client AND reference_hash = used.reference_hash
                ORDER BY by_reference
                LIMIT 1
               ) AS record
        """,
        list(map(list, zip(*used, strict=True))),
    )
    return {
        used[number - 1]: IdempotencyRecord(order_id, body_hash, by_reference=by_reference)
        for number, order_id, body_hash, by_reference in rows
    }


def holders_of_number(order_id: UUID) -> set[UUID]:
    """The orders that have the number of this one; itself, if it has a record."""
    from orders.models.channel import NUMBER_IN_SQL  # noqa: PLC0415 - a business is declared without Django

    number = NUMBER_IN_SQL.format
    rows = fetch(
        f"""
        SELECT order_id
          FROM orders_submissionkey
         WHERE {number(order_id="order_id")} = {number(order_id="%s::uuid")}
           AND NOT shares_number
        """,
        [order_id],
    )
    return {holder for (holder,) in rows}
