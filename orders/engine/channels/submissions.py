"""The submission queue (S1–S3): orders on their way in, and those that can never be inserted."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from orders.engine.channels.wakeups import Topic
from orders.engine.contracts import Json
from orders.engine.intakes import RejectedSubmission, Submission
from orders.engine.runtime.sql import fetch, recordset
from orders.engine.runtime.statements import Cursor, Sent, array, rows_of, send


class IdempotencyRecord(NamedTuple):
    """The order that an idempotency key stands for, the hash of its body, and whether this call posted it.

    If it did, also when, by the database's clock, and whether the queue or the state store has that order already. They
    have it only if the record of the key is lost.
    """

    order_id: UUID
    body_hash: str
    is_new: bool
    posted_at: datetime | None = None
    is_known: bool = False


def post(*, order_id: UUID, client: str, body: Json) -> datetime:
    """Puts one order on the submission queue, and wakes the submission role. Returns when, by the database's clock.

    One statement, which outside a transaction is one of its own.
    """
    rows = fetch(
        """
        WITH posted AS (
            INSERT INTO orders_submissionmessage (order_id, client, body)
            VALUES (%s::uuid, %s::text, %s::jsonb)
         RETURNING posted_at
        )
        SELECT posted_at, pg_notify(%s::text, %s::text)
          FROM posted
        """,
        [order_id, client, json.dumps(body), Topic.SUBMISSION.channel, ""],
    )
    posted_at: datetime = rows[0][0]
    return posted_at


def post_once(*, order_id: UUID, client: str, body: Json, key: str, body_hash: str) -> IdempotencyRecord:
    """Puts an order on the submission queue, as `post` does, unless this client has used this idempotency key before.

    Of any number of simultaneous posts with one key, exactly one is new. The unique index decides which, and the others
    wait until it has committed.
    """
    rows = fetch(
        """
        WITH recorded AS (
            INSERT INTO orders_submissionkey (client, key, body_hash, order_id)
            VALUES (%s::text, %s::text, %s::text, %s::uuid)
                ON CONFLICT (client, key) DO NOTHING
         RETURNING order_id, client
        ), posted AS (
            INSERT INTO orders_submissionmessage (order_id, client, body)
            SELECT order_id, client, %s::jsonb
              FROM recorded
         RETURNING order_id, posted_at
        )
        SELECT posted_at,
               EXISTS (SELECT FROM orders_submissionmessage AS earlier WHERE earlier.order_id = posted.order_id)
               OR EXISTS (SELECT FROM orders_orderprocess AS process WHERE process.order_id = posted.order_id),
               pg_notify(%s::text, %s::text)
          FROM posted
        """,
        [client, key, body_hash, order_id, json.dumps(body), Topic.SUBMISSION.channel, ""],
    )
    if rows:
        posted_at, is_known, _ = rows[0]
        return IdempotencyRecord(order_id, body_hash, is_new=True, posted_at=posted_at, is_known=is_known)
    record = find_record(client=client, key=key)
    assert record is not None, "the conflicting idempotency key has been deleted"
    return record


def find_record(*, client: str, key: str) -> IdempotencyRecord | None:
    """Finds what this client has posted with an idempotency key. Returns None if it has not used the key."""
    rows = fetch(
        """
        SELECT order_id, body_hash
          FROM orders_submissionkey
         WHERE client = %s
           AND key = %s
        """,
        [client, key],
    )
    if not rows:
        return None
    order_id, body_hash = rows[0]
    return IdempotencyRecord(order_id, body_hash, is_new=False)


NAMED = "coalesce(body ->> 'workflow', %(unnamed)s::text)"
"""The workflow that a message is for."""


def unknown_workflows(names: Collection[str], *, unnamed: str, seconds: float) -> list[str]:
    """The workflows of messages that have waited for so long since they are of none of these; a few of them."""
    rows = fetch(
        f"""
        SELECT DISTINCT left({NAMED}, 60)
          FROM orders_submissionmessage
         WHERE {NAMED} <> ALL(%(names)s::text[])
           AND posted_at < clock_timestamp() - make_interval(secs => %(seconds)s)
         LIMIT 5
        """,
        {"names": list(names), "unnamed": unnamed, "seconds": seconds},
    )
    return [name for (name,) in rows]


def take(
    limit: int, *, only: Collection[UUID] | None = None, without: Collection[UUID] = (), start: int = 0
) -> list[tuple[int, Submission]]:
    """Locks up to `limit` messages, oldest first: all, those of some orders only, or those without some orders.

    Only those with an id of at least `start`. Skips those that another instance has locked.
    """
    return send_take(limit, only=only, without=without, start=start).result()


def send_take(
    limit: int,
    *,
    only: Collection[UUID] | None = None,
    without: Collection[UUID] = (),
    start: int = 0,
    workflows: Collection[str] | None = None,
    unnamed: str = "",
) -> Sent[list[tuple[int, Submission]]]:
    """The same, without waiting for what it finds, and only those of `workflows`, if given. A message that names no
    workflow is of `unnamed`."""
    restriction = "" if only is None else "AND order_id = ANY(%(only)s::uuid[])"
    if workflows is not None:
        restriction += f" AND {NAMED} = ANY(%(workflows)s::text[])"
    return send(
        f"""
        SELECT id, order_id, client, body, posted_at
          FROM orders_submissionmessage
         WHERE id >= %(start)s::bigint
           AND order_id <> ALL(%(without)s::uuid[]) {restriction}
         ORDER BY id
         LIMIT %(limit)s::int
           FOR UPDATE SKIP LOCKED
        """,
        {
            "start": start,
            "without": array(without),
            "only": array(only or ()),
            "limit": limit,
            "workflows": list(workflows or ()),
            "unnamed": unnamed,
        },
        _messages_of,
    )


def _messages_of(cursor: Cursor) -> list[tuple[int, Submission]]:
    return [
        (
            message_id,
            Submission(order_id=order_id, client=client, body=json.loads(body), posted_at=posted_at),
        )
        for message_id, order_id, client, body, posted_at in rows_of(cursor)
    ]


def delete(message_ids: Sequence[int]) -> None:
    """Deletes messages that this transaction has handled."""
    send("DELETE FROM orders_submissionmessage WHERE id = ANY(%s::bigint[])", [array(message_ids)])


def set_aside(rejected: Sequence[RejectedSubmission]) -> None:
    """Keeps submissions that can never be inserted, with the reason, for an operator (S3).

    An order that is set aside already keeps its row, with the new reason.
    """
    latest = {rejection.submission.order_id: rejection for rejection in rejected}
    send(
        """
        INSERT INTO orders_setaside (order_id, client, body, reason, posted_at)
        SELECT order_id, client, body, reason, posted_at
          FROM json_to_recordset(%s::json)
            AS rejected(order_id uuid, client text, body jsonb, reason text, posted_at timestamptz)
            ON CONFLICT (order_id) WHERE replayed_at IS NULL
               DO UPDATE SET reason = excluded.reason
        """,
        [
            recordset(
                {
                    "order_id": rejection.submission.order_id,
                    "client": rejection.submission.client,
                    "body": rejection.submission.body,
                    "reason": rejection.reason,
                    "posted_at": rejection.submission.posted_at,
                }
                for rejection in latest.values()
            )
        ],
    )


def replay(set_aside_id: int) -> UUID | None:
    """Puts a submission that was set aside back on the queue. Returns its order; None if it is not set aside.

    Two replays at once put it back only once: the second UPDATE waits for the first and then finds `replayed_at` set.
    """
    rows = fetch(
        """
        WITH replayed AS (
            UPDATE orders_setaside
               SET replayed_at = clock_timestamp()
             WHERE id = %s
               AND replayed_at IS NULL
         RETURNING order_id, client, body
        )
        INSERT INTO orders_submissionmessage (order_id, client, body)
        SELECT order_id, client, body
          FROM replayed
     RETURNING order_id
        """,
        [set_aside_id],
    )
    return rows[0][0] if rows else None
