"""The submission queue (S1–S3): orders on their way in, and those that can never be inserted."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from orders.engine.channels.submission_records import IdempotencyRecord, find_record, holders_of_number
from orders.engine.channels.wakeups import Topic
from orders.engine.contracts import Json
from orders.engine.intakes import RejectedSubmission, Submission, customer_of
from orders.engine.runtime.sql import fetch, fetch_frequent, recordset, run
from orders.engine.runtime.statements import Cursor, Sent, array, rows_of, send
from orders.vocabulary import Goal


def post(*, order_id: UUID, client: str, body: Json) -> datetime | None:
    """Puts one order on the submission queue, and wakes the submission role. Returns when, by the database's clock;
    None if another order has the number of this one, which then needs another id.

    One statement, which outside a transaction is one of its own.
    """
    rows = fetch_frequent(
        """
        WITH placed AS (
            INSERT INTO orders_submissionkey (client, body_hash, order_id)
            VALUES (%s::text, '', %s::uuid)
                ON CONFLICT DO NOTHING
         RETURNING order_id, client
        ), posted AS (
            INSERT INTO orders_submissionmessage (order_id, client, body)
            SELECT order_id, client, %s::jsonb
              FROM placed
         RETURNING posted_at
        )
        SELECT posted_at, pg_notify(%s::text, %s::text)
          FROM posted
        """,
        [client, order_id, json.dumps(body), Topic.SUBMISSION.channel, ""],
    )
    if rows:
        posted_at: datetime = rows[0][0]
        return posted_at
    return _post_again(order_id, client, body) if order_id in holders_of_number(order_id) else None


def _post_again(order_id: UUID, client: str, body: Json) -> datetime:
    """Posts an order that has been posted before: the submission role makes one of both."""
    rows = fetch(
        """
        INSERT INTO orders_submissionmessage (order_id, client, body)
        VALUES (%s::uuid, %s::text, %s::jsonb)
     RETURNING posted_at, pg_notify(%s::text, %s::text)
        """,
        [order_id, client, json.dumps(body), Topic.SUBMISSION.channel, ""],
    )
    posted_at: datetime = rows[0][0]
    return posted_at


IS_ANYWHERE = """(
            EXISTS (SELECT FROM orders_submissionmessage AS queued WHERE queued.order_id = placed.order_id)
            OR EXISTS (SELECT FROM orders_orderprocess AS process WHERE process.order_id = placed.order_id)
            OR EXISTS (SELECT FROM orders_setaside AS aside
                        WHERE aside.order_id = placed.order_id AND aside.replayed_at IS NULL)
            OR EXISTS (SELECT FROM orders_archivedorder AS archived WHERE archived.order_id = placed.order_id)
        )"""
"""Whether there is an order `placed` already, wherever it is. One snapshot, so one that is moving is not missed."""


def post_once(
    *,
    order_id: UUID,
    client: str,
    body: Json,
    key: str | None,
    body_hash: str,
    reference_hash: str | None = None,
) -> IdempotencyRecord:
    """Puts an order on the submission queue, as `post` does, unless this client has used this idempotency key or this
    reference before.

    Of any number of simultaneous posts with one of them, exactly one is new. Their unique indexes decide which, and the
    others wait until it has committed. An order that is there although its record is lost is not posted again.
    """
    rows = fetch_frequent(
        f"""
        WITH placed AS (
            INSERT INTO orders_submissionkey (client, key, reference_hash, body_hash, order_id)
            VALUES (%s::text, %s::text, %s::text, %s::text, %s::uuid)
                ON CONFLICT DO NOTHING
         RETURNING order_id, client
        ), posted AS (
            INSERT INTO orders_submissionmessage (order_id, client, body)
            SELECT order_id, client, %s::jsonb
              FROM placed
             WHERE NOT {IS_ANYWHERE}
         RETURNING posted_at
        )
        SELECT posted_at, pg_notify(%s::text, %s::text)
          FROM placed LEFT JOIN posted ON true
        """,
        [client, key, reference_hash, body_hash, order_id, json.dumps(body), Topic.SUBMISSION.channel, ""],
    )
    if rows:
        posted_at = rows[0][0] or post_if_gone(order_id, client, body)
        is_known = posted_at is None and key is None
        return IdempotencyRecord(order_id, body_hash, posted_at=posted_at, by_reference=is_known)
    if record := find_record(client=client, key=key, reference_hash=reference_hash):
        return record
    holders = holders_of_number(order_id)
    if not holders:  # its order was old enough to be deleted, and has just been
        return post_once(
            order_id=order_id,
            client=client,
            body=body,
            key=key,
            body_hash=body_hash,
            reference_hash=reference_hash,
        )
    if order_id not in holders:
        return IdempotencyRecord(order_id, body_hash, number_is_taken=True)
    # Its own record has lost the key, which named its customer, who was erased since.
    posted_at = post_if_gone(order_id, client, body)
    return IdempotencyRecord(order_id, body_hash, posted_at=posted_at, by_reference=key is None)


def post_if_gone(order_id: UUID, client: str, body: Json) -> datetime | None:
    """Posts an order that was there a moment ago, unless it still is: its record may have been new because retention
    was just deleting it with its order, which the snapshot of that statement still had."""
    rows = fetch(
        f"""
        INSERT INTO orders_submissionmessage (order_id, client, body)
        SELECT order_id, client, body
          FROM (VALUES (%s::uuid, %s::text, %s::jsonb)) AS placed (order_id, client, body)
         WHERE NOT {IS_ANYWHERE}
     RETURNING posted_at, pg_notify(%s::text, %s::text)
        """,
        [order_id, client, json.dumps(body), Topic.SUBMISSION.channel, ""],
    )
    return rows[0][0] if rows else None


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
    workflow is of `unnamed`. One whose goal only a newer release knows is left to that release."""
    restriction = "" if only is None else "AND order_id = ANY(%(only)s::uuid[])"
    if workflows is not None:
        restriction += f" AND {NAMED} = ANY(%(workflows)s::text[])"
    return send(
        f"""
        SELECT id, order_id, client, body, posted_at, goal
          FROM orders_submissionmessage
         WHERE id >= %(start)s::bigint
           AND order_id <> ALL(%(without)s::uuid[])
           AND goal = ANY(%(goals)s::text[]) {restriction}
         ORDER BY id
         LIMIT %(limit)s::int
           FOR UPDATE SKIP LOCKED
        """,
        {
            "goals": list(Goal),
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
            Submission(
                order_id=order_id,
                client=client,
                body=json.loads(body),
                posted_at=posted_at,
                goal=Goal(goal),
            ),
        )
        for message_id, order_id, client, body, posted_at, goal in rows_of(cursor)
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


def customer_of_order(order_id: UUID) -> int | None:
    """The id of the account that has submitted an order which is on the queue; None if it was somebody else."""
    rows = fetch("SELECT client FROM orders_submissionmessage WHERE order_id = %s LIMIT 1", [order_id])
    return customer_of(rows[0][0]) if rows else None


def cancel(order_id: UUID) -> bool | None:
    """Has an order compensated that is not inserted yet. Returns False if it was cancelled before, and None if it is
    neither on the queue nor set aside.

    Waits while the submission role has the message. One that was set aside goes back on the queue, because an order
    ends in one way only, wherever it was when it was cancelled; nothing is left that could be replayed.
    """
    changed = run(
        "UPDATE orders_submissionmessage SET goal = %s WHERE order_id = %s AND goal <> %s",
        [Goal.COMPENSATE, order_id, Goal.COMPENSATE],
    )
    if changed:
        return True
    if fetch("SELECT FROM orders_submissionmessage WHERE order_id = %s LIMIT 1", [order_id]):
        return False
    recalled = run(
        """
        WITH recalled AS (
            DELETE FROM orders_setaside WHERE order_id = %s RETURNING order_id, client, body, replayed_at
        )
        INSERT INTO orders_submissionmessage (order_id, client, body, goal)
        SELECT order_id, client, body, %s
          FROM recalled
         WHERE replayed_at IS NULL
        """,
        [order_id, Goal.COMPENSATE],
    )
    return True if recalled else None
