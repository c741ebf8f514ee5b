"""Leases of messages on response queues, as a client's consumers take them (Q2, Q3).

Several consumers share a queue: what one has leased is hidden from the leases of the others until it is acknowledged,
given back, or its time is over. The messages about one order come in their order, since none is leased while an earlier
one of its order is leased. The database's clock decides.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch


class StatusLease(NamedTuple):
    """The messages that one consumer has leased, until when, and the token that proves it."""

    token: UUID
    until: datetime
    message_ids: Sequence[int]


class MessageState(NamedTuple):
    """What an act on leased messages has found of one: whether it was there, whether the act was allowed, and whether
    later messages about its order wait behind it."""

    message_id: int
    is_allowed: bool
    has_later: bool


FREE = """
    (message.leased_until IS NULL OR message.leased_until <= statement_timestamp())
    AND NOT EXISTS (SELECT FROM orders_statusmessage AS earlier
                     WHERE earlier.order_id = message.order_id AND earlier.queue = message.queue
                       AND earlier.id < message.id AND earlier.leased_until > statement_timestamp())
"""
"""Whether a `message` can be leased. The time does not pass within a statement, so that an earlier message whose lease
lapses meanwhile is not overtaken."""


def take(*, queue: str, token: UUID, limit: int, seconds: int) -> StatusLease | None:
    """Leases up to `limit` messages of a queue, oldest first. None if there is none that can be leased.

    Call it in a transaction. Those who lease from one queue take turns until they commit, so that each sees what the
    others have leased.
    """
    fetch("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"lease {queue}"])
    rows = fetch(
        f"""
        WITH free AS (
            SELECT message.id
              FROM orders_statusmessage AS message
             WHERE message.queue = %(queue)s AND {FREE}
             ORDER BY message.id
             LIMIT %(limit)s
               FOR UPDATE OF message
        )
        UPDATE orders_statusmessage AS message
           SET lease = %(token)s,
               leased_until = statement_timestamp() + make_interval(secs => %(seconds)s),
               deliveries = deliveries + 1
          FROM free
         WHERE message.id = free.id
     RETURNING message.id, message.leased_until
        """,
        {"queue": queue, "token": token, "limit": limit, "seconds": seconds},
    )
    if not rows:
        return None
    return StatusLease(token, rows[0][1], sorted(number for number, _ in rows))


DELETE = (
    "DELETE FROM orders_statusmessage AS message USING named WHERE message.id = named.id AND named.is_allowed"
)


def delete(*, queue: str, message_id: int) -> MessageState | None:
    """Deletes a message, whoever has leased it. None if there is no such message."""
    states = _act(DELETE, allowed="true", parameters={"queue": queue, "ids": [message_id]})
    return states[0] if states else None


def acknowledge(*, queue: str, token: UUID | None, message_ids: Sequence[int]) -> list[MessageState]:
    """Deletes messages that have been processed. Returns what was there of them.

    With the token of a lease it is not allowed to delete what another consumer has leased since; without one, what
    anybody has leased at present.
    """
    return _act(
        DELETE,
        allowed="""
            CASE WHEN %(token)s::uuid IS NULL
                 THEN leased_until IS NULL OR leased_until <= statement_timestamp()
                 ELSE lease IS NULL OR lease = %(token)s::uuid END
        """,
        parameters={"queue": queue, "token": token, "ids": list(message_ids)},
    )


def release(*, queue: str, token: UUID, message_ids: Sequence[int]) -> list[MessageState]:
    """Ends the lease of messages, which others may lease at once. Returns what was there of them.

    It is not allowed to give back what another consumer has leased; what nobody has leased is left out.
    """
    return _act(
        """
        UPDATE orders_statusmessage AS message SET lease = NULL, leased_until = NULL
          FROM named WHERE message.id = named.id AND named.is_allowed
        """,
        allowed="lease = %(token)s::uuid",
        only="AND lease IS NOT NULL",
        parameters={"queue": queue, "token": token, "ids": list(message_ids)},
    )


def _act(act: str, *, allowed: str, parameters: dict[str, object], only: str = "") -> list[MessageState]:
    """Locks messages in the order of their ids, decides, and acts on those that are allowed. One statement."""
    rows = fetch(
        f"""
        WITH locked AS MATERIALIZED (
            SELECT *
              FROM orders_statusmessage
             WHERE queue = %(queue)s AND id = ANY(%(ids)s::bigint[]) {only}
             ORDER BY id
               FOR UPDATE
        ), named AS MATERIALIZED (
            SELECT id, order_id, queue, ({allowed}) AS is_allowed FROM locked
        ), acted AS ({act})
        SELECT named.id, named.is_allowed,
               EXISTS (SELECT FROM orders_statusmessage AS later
                        WHERE later.order_id = named.order_id AND later.queue = named.queue
                          AND later.id > named.id AND later.id <> ALL(%(ids)s::bigint[]))
          FROM named
        """,
        parameters,
    )
    return [MessageState(*row) for row in rows]
