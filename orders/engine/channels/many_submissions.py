"""Posts many orders to the submission queue in one statement (S1, S3)."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from orders.engine.channels.submission_records import IdempotencyRecord, UsedWords, find_records
from orders.engine.channels.submissions import IS_ANYWHERE, post_if_gone, post_once
from orders.engine.channels.wakeups import Topic
from orders.engine.contracts import Json
from orders.engine.runtime.sql import fetch_frequent, recordset


class KeyedSubmission(NamedTuple):
    """What `post_once` posts, as one of many."""

    order_id: UUID
    client: str
    body: Json
    key: str
    body_hash: str
    reference_hash: str | None = None

    @property
    def words(self) -> UsedWords:
        """What its client may have used before."""
        return UsedWords(self.client, self.key, self.reference_hash)


def post_many(posts: Sequence[KeyedSubmission], *, patience: float | None = None) -> list[IdempotencyRecord]:
    """Puts many orders on the submission queue, each as `post_once` does, and in the order given. Each has a key of its
    own.

    One statement, and one more if some of the keys or references have been used. It takes the keys in their order, so
    that two which have keys in common never wait for each other in a circle. Two that give the same references to
    different keys may: the server then ends one of them, which can be repeated.

    With `patience`, it waits at most so many seconds for a transaction that has posted one of them and goes on; then it
    posts none, and raises `OperationalError`.
    """
    if not posts:
        return []
    rows = fetch_frequent(
        f"""
        WITH given AS (
            SELECT *, set_config('lock_timeout', coalesce(%s::text, current_setting('lock_timeout')), true)
              FROM json_to_recordset(%s::json)
                AS given(number int, order_id uuid, client text, body jsonb, key text, body_hash text,
                         reference_hash text)
        ), placed AS (
            INSERT INTO orders_submissionkey (client, key, reference_hash, body_hash, order_id)
            SELECT client, key, reference_hash, body_hash, order_id
              FROM given
             ORDER BY client, key
                ON CONFLICT DO NOTHING
         RETURNING order_id
        ), posted AS (
            INSERT INTO orders_submissionmessage (order_id, client, body)
            SELECT order_id, client, body
              FROM placed JOIN given USING (order_id)
             WHERE NOT {IS_ANYWHERE}
             ORDER BY number
         RETURNING order_id, posted_at
        )
        SELECT number, posted_at, pg_notify(%s::text, %s::text)
          FROM placed JOIN given USING (order_id) LEFT JOIN posted USING (order_id)
        """,
        [
            None if patience is None else f"{patience:.3f}s",
            recordset({"number": number, **row._asdict()} for number, row in enumerate(posts)),
            Topic.SUBMISSION.channel,
            "",
        ],
    )
    records: dict[int, IdempotencyRecord] = {}
    for number, posted_at, _ in rows:
        post = posts[number]
        posted_at = posted_at or post_if_gone(post.order_id, post.client, post.body)
        records[number] = IdempotencyRecord(post.order_id, post.body_hash, posted_at=posted_at)
    earlier = find_records(row.words for number, row in enumerate(posts) if number not in records)
    for number, row in enumerate(posts):
        if number not in records:
            # Without a record, its order was old enough to be deleted, and has just been, or its number is taken.
            records[number] = earlier.get(row.words) or post_once(**row._asdict())
    return [records[number] for number in range(len(posts))]
