"""Counts how often each client does something, for all processes alike, and refuses what is too much.

Each subject of each limit (`sasweb.limits`) has a token bucket, kept as one time: when it will be full again. Taking a
token moves that time by the share of one; if it would then lie further ahead than a whole bucket takes to fill, there
is no token left. This is the generic cell rate algorithm (ITU-T I.371). All buckets of a request are taken from in one
statement, in the order of their keys, so that two requests never wait for each other in a circle.

The database holds a keyed hash in place of the subject.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from orders.engine.runtime.sql import fetch
from sasweb.limits import Limit

Subject = tuple[str, str]
"""The name of a limit, and who or what is counted by it."""

LONGEST_KEPT = 24
"""Characters of a subject's hash that are stored."""

TAKE = """
    WITH asked AS (
        SELECT * FROM unnest(%(keys)s::text[], %(shares)s::float8[], %(wholes)s::float8[]) AS a (key, share, whole)
    ), taken AS (
        INSERT INTO orders_bucket AS bucket (key, full_at)
        SELECT key, statement_timestamp() + make_interval(secs => share) FROM asked ORDER BY key
            ON CONFLICT (key) DO UPDATE
           SET full_at = greatest(bucket.full_at, statement_timestamp())
                         + make_interval(secs => (SELECT share FROM asked WHERE asked.key = bucket.key))
         WHERE greatest(bucket.full_at, statement_timestamp())
               <= statement_timestamp()
                  + make_interval(secs => (SELECT whole - share FROM asked WHERE asked.key = bucket.key))
        RETURNING key
    )
    SELECT coalesce(extract(epoch FROM bucket.full_at - statement_timestamp()), whole)::float8 - whole + share
      FROM asked LEFT JOIN orders_bucket AS bucket USING (key)
     WHERE key NOT IN (SELECT key FROM taken)
"""
"""Takes a token from each bucket that has one, and returns the seconds until each of the others has one again."""


class LimitedError(Exception):
    """Raised when a client must wait; `wait` is for how many seconds."""

    def __init__(self, wait: int) -> None:
        super().__init__(f"wait {wait} s")
        self.wait = wait


def take(subjects: Iterable[Subject]) -> None:
    """Counts one act of each of these subjects. Limits that are switched off count nothing.

    Call it outside of transactions: a bucket is locked until the end of one. Raises `LimitedError` if any of them has
    done it too often; the act then still counts for the others.
    """
    limits = settings.CONFIG.limits
    buckets = {_key(subject): limits[subject[0]] for subject in subjects if subject[0] in limits}
    if not buckets:
        return
    waits = _take(buckets)
    if waits:
        raise LimitedError(max(1, math.ceil(max(waits))))


def has_room(subject: Subject) -> bool:
    """Whether this subject may do it now. Counts nothing."""
    limit = settings.CONFIG.limits.get(subject[0])
    if limit is None:
        return True
    rows = fetch(
        "SELECT full_at <= statement_timestamp() + make_interval(secs => %s::float8) FROM orders_bucket"
        " WHERE key = %s::text",
        [limit.seconds - limit.seconds / limit.most, _key(subject)],
    )
    return not rows or bool(rows[0][0])


def _take(buckets: dict[str, Limit]) -> Sequence[float]:
    parameters: dict[str, Any] = {
        "keys": list(buckets),
        "shares": [limit.seconds / limit.most for limit in buckets.values()],
        "wholes": [float(limit.seconds) for limit in buckets.values()],
    }
    return [wait for (wait,) in fetch(TAKE, parameters)]


def _key(subject: Subject) -> str:
    name, identity = subject
    return f"{name}:{salted_hmac('orders.access.limits', identity, algorithm='sha256').hexdigest()[:LONGEST_KEPT]}"
