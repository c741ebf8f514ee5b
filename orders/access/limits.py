"""Counts how often each client does something, for all processes alike, and refuses what is too much.

Each subject of each limit (`sasweb.limits`) has a token bucket, kept as one time: when it will be full again. Taking a
token moves that time by the share of one; if it would then lie further ahead than a whole bucket takes to fill, there
is no token left. This is the generic cell rate algorithm (ITU-T I.371). All buckets of a request are taken from in one
statement, in the order of their keys, so that two requests never wait for each other in a circle.

The database holds a keyed hash in place of the subject. What happens too often for a statement each is counted from
`orders.access.purses`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.crypto import salted_hmac

from orders.engine.runtime.sql import fetch, fetch_frequent
from sasweb.limits import Limit

Subject = tuple[str, str]
"""The name of a limit, and who or what is counted by it."""

LONGEST_KEPT = 24
"""Characters of a subject's hash that are stored."""

ROUNDED = 0.001
"""The part of a token that may be missing because times are stored in microseconds."""

TAKE = """
    WITH asked AS (
        SELECT * FROM unnest(%(keys)s::text[], %(costs)s::float8[], %(wholes)s::float8[]) AS a (key, cost, whole)
    ), taken AS (
        INSERT INTO orders_bucket AS bucket (key, full_at)
        SELECT key, statement_timestamp() + make_interval(secs => cost) FROM asked ORDER BY key
            ON CONFLICT (key) DO UPDATE
           SET full_at = greatest(bucket.full_at, statement_timestamp())
                         + make_interval(secs => (SELECT cost FROM asked WHERE asked.key = bucket.key))
         WHERE greatest(bucket.full_at, statement_timestamp())
               <= statement_timestamp()
                  + make_interval(secs => (SELECT greatest(whole - cost, 0) FROM asked WHERE asked.key = bucket.key))
        RETURNING key, full_at
    )
    SELECT key, taken.full_at IS NOT NULL,
           coalesce(extract(epoch FROM coalesce(taken.full_at, bucket.full_at) - statement_timestamp()), whole)::float8
      FROM asked LEFT JOIN taken USING (key) LEFT JOIN orders_bucket AS bucket USING (key)
"""
"""Takes tokens from each bucket that has so many, or is full: what it lacks then is owed. Says of each whether it had
them, and in how many seconds it is full."""


class Count(NamedTuple):
    """How many tokens are left for a subject of a limit. There is one more in `wait` seconds, a whole number."""

    name: str
    limit: Limit
    tokens: int
    wait: int
    is_refused: bool = False


class LimitedError(Exception):
    """Raised when a client must wait for `wait` seconds: `refused` has been done too often. `counts` are all counts."""

    def __init__(self, counts: Sequence[Count]) -> None:
        self.counts = counts
        self.refused = max((count for count in counts if count.is_refused), key=lambda count: count.wait)
        self.wait = self.refused.wait
        super().__init__(f"{self.refused.name}: wait {self.wait} s")


def take(subjects: Iterable[Subject], number: int = 1) -> Sequence[Count]:
    """Counts an act of each of these subjects, or a `number` of them at once. Limits that are switched off count
    nothing.

    Call it outside of transactions: a bucket is locked until the end of one. Raises `LimitedError` if any of them has
    done it too often; the act then still counts for the others.
    """
    counts = list(count_each(dict.fromkeys(subjects, number)).values())
    if any(count.is_refused for count in counts):
        raise LimitedError(counts)
    return counts


def count_each(numbers: Mapping[Subject, int]) -> Mapping[Subject, Count]:
    """Counts so many acts of each of these subjects, or none of one who may not do as many now. Limits that are
    switched off are left out."""
    limits = settings.CONFIG.limits
    return {
        (name, identity): count_of(
            name,
            limits[name],
            seconds,
            is_refused=not is_taken,
            needed=1 if is_taken else numbers[name, identity],
        )
        for (name, identity), (is_taken, seconds) in ask(numbers).items()
    }


def ask(numbers: Mapping[Subject, int]) -> Mapping[Subject, tuple[bool, float]]:
    """Takes so many tokens for each subject, or none if its bucket has fewer and is not full. Says of each subject
    whether they were taken, and in how many seconds its bucket will be full. Limits that are switched off are left
    out."""
    limits = settings.CONFIG.limits
    subjects = {_key(subject): subject for subject in numbers if subject[0] in limits}
    if not subjects:
        return {}
    costs, wholes = [], []
    for subject in subjects.values():
        limit = limits[subject[0]]
        costs.append(numbers[subject] * limit.share)
        wholes.append(float(limit.seconds))
    rows = _take({"keys": list(subjects), "costs": costs, "wholes": wholes})
    full_in = {key: (is_taken, seconds) for key, is_taken, seconds in rows}
    return {subject: full_in[key] for key, subject in subjects.items()}


def give_back(numbers: Mapping[Subject, int]) -> None:
    """Gives back tokens that `ask` has taken, for acts that are counted elsewhere. One statement, or none."""
    ask({subject: -number for subject, number in numbers.items()})


def count_of(
    name: str, limit: Limit, full_in: float, *, held: int = 0, is_refused: bool = False, needed: int = 1
) -> Count:
    """The count of a bucket that will be full in so many seconds, for somebody who holds this many tokens of it. It
    waits until there is one more, or until there are as many as `needed`."""
    in_bucket = 0 if is_refused else tokens_of(limit, full_in)
    more_in = full_in - max(0.0, limit.seconds - (in_bucket + needed) * limit.share)
    tokens = min(limit.most, in_bucket + held)
    return Count(name, limit, tokens, max(1, math.ceil(more_in)), is_refused)


def tokens_of(limit: Limit, full_in: float) -> int:
    """How many tokens a bucket has that will be full in so many seconds."""
    return max(0, math.floor((limit.seconds - max(0.0, full_in)) / limit.share + ROUNDED))


def seconds_until_room(subject: Subject) -> int:
    """In how many seconds this subject may do it again; 0 if it may now. Counts nothing."""
    limit = settings.CONFIG.limits.get(subject[0])
    if limit is None:
        return 0
    rows = fetch(
        "SELECT extract(epoch FROM full_at - statement_timestamp())::float8 FROM orders_bucket WHERE key = %s::text",
        [_key(subject)],
    )
    full_in = rows[0][0] if rows else 0.0
    return max(0, math.ceil(full_in - (limit.seconds - limit.share)))


def _take(parameters: Mapping[str, Any]) -> Iterable[tuple[str, bool, float]]:
    return fetch_frequent(TAKE, parameters)


def _key(subject: Subject) -> str:
    name, identity = subject
    return f"{name}:{salted_hmac('orders.access.limits', identity, algorithm='sha256').hexdigest()[:LONGEST_KEPT]}"
