"""What became of orders in one minute, read by the indexes that there are (`OrderFigures`).

A minute is read once it is over for as long as a transaction may last, so that whatever was written in it can be seen.
When it is read does not matter beyond that: the orders that were unfinished at its end are those that still are and
those that have ended since.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from orders.engine.runtime.sql import fetch, run
from orders.models.figures import AGE_BOUNDS, AGES

MINUTE = timedelta(minutes=1)
MOST_ENDED = 50_000
"""Orders that end in a minute, or since a minute, beyond which no more are counted."""
MOST_UNFINISHED = 100_000
"""Unfinished orders of each state that are counted, the oldest first: whoever waits long is always among them."""


def start_of_minute(at: datetime) -> datetime:
    """When the minute began that has this time."""
    return at.replace(second=0, microsecond=0)


class MinuteReading:
    """What became of orders in the minute that began then, read in slices and written at the end.

    Each slice is one statement, outside of any transaction, so that nothing waits for it. Together they say the same as
    one reading would, because each is about a time that is past.
    """

    def __init__(self, began: datetime) -> None:
        self.began = began
        self._placed = 0
        self._took = self._unfinished = _histogram({})
        self._cancelled = 0
        self._opened: Mapping[int, tuple[int, int]] = {}
        self._left = [self._read_ended, self._read_unfinished, self._read_placed, self._read_opened]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be read."""
        return not self._left

    def read_slice(self) -> None:
        """Reads the next slice, for at most as long as a transaction may last."""
        self._left[0]()
        self._left.pop(0)

    def write(self) -> bool:
        """Writes what has been read; returns False if the minute has been written before."""
        is_new = run(
            """
            INSERT INTO orders_orderfigures (span, began, minutes, placed, processed, failed, cancelled, took,
                                             unfinished)
            VALUES ('minute', %s, 1, %s, %s, %s, %s, %s, %s)
                ON CONFLICT (span, began) DO NOTHING
            """,
            [
                *(
                    self.began,
                    self._placed,
                    sum(self._took),
                    sum(failed for _, failed in self._opened.values()),
                ),
                *(self._cancelled, self._took, self._unfinished),
            ],
        )
        if is_new:
            run(
                """
                INSERT INTO orders_causefigures (span, began, group_id, opened)
                SELECT 'minute', %s, cause.id, cause.opened
                  FROM unnest(%s::bigint[], %s::int[]) AS cause (id, opened)
                    ON CONFLICT (group_id, span, began) DO NOTHING
                """,
                [self.began, list(self._opened), [alerts for alerts, _ in self._opened.values()]],
            )
        return bool(is_new)

    def _read_ended(self) -> None:
        ended = _ended(self.began, self.began + MINUTE)
        self._took = _histogram(ended.get("processed", {}))
        self._cancelled = sum(ended.get("compensated", {}).values())

    def _read_unfinished(self) -> None:
        self._unfinished = _histogram(_unfinished(self.began + MINUTE))

    def _read_placed(self) -> None:
        self._placed = _placed(self.began, self.began + MINUTE)

    def _read_opened(self) -> None:
        self._opened = _opened(self.began, self.began + MINUTE)


def write_tallies(began: datetime) -> None:
    """Keeps the tally of each agent as the one at the end of the minute that began then."""
    run(
        """
        INSERT INTO orders_agentfigures (span, began, agent, calls, errors, buckets)
        SELECT 'minute', %s, agent, sum(calls), sum(errors), array_agg(counted ORDER BY place)
          FROM (SELECT agent, place, sum(count) AS counted,
                       sum(calls) FILTER (WHERE place = 1) AS calls,
                       coalesce(sum(calls) FILTER (WHERE place = 1 AND outcome NOT IN ('ok', 'declined')), 0) AS errors
                  FROM orders_agenttally, unnest(buckets) WITH ORDINALITY AS bucket (count, place)
                 GROUP BY agent, place) AS bucket
         GROUP BY agent
            ON CONFLICT (span, began, agent) DO NOTHING
        """,
        [began],
    )


def _placed(began: datetime, ends: datetime) -> int:
    ((placed,),) = fetch(
        """
        SELECT count(*) FROM orders_orderprocess
         WHERE process_state IN ('pending', 'processing', 'error', 'processed', 'compensated')
           AND created_at >= %s AND created_at < %s
        """,
        [began, ends],
    )
    return int(placed)


def _ended(began: datetime, ends: datetime) -> Mapping[str, Mapping[int, int]]:
    """The orders that ended then, by how they ended and by the bucket of how long they took."""
    rows = fetch(
        """
        SELECT ended.process_state, width_bucket(extract(epoch FROM ended.finished_at
                   - coalesce(o.placed_at, ended.created_at))::float8, %s::float8[]), count(*)
          FROM (SELECT order_id, process_state, created_at, finished_at FROM orders_orderprocess
                 WHERE finished_at >= %s AND finished_at < %s
                 ORDER BY finished_at DESC LIMIT %s) AS ended
          LEFT JOIN orders_order AS o ON o.id = ended.order_id
         GROUP BY 1, 2
        """,
        [list(AGE_BOUNDS), began, ends, MOST_ENDED],
    )
    by_state: dict[str, dict[int, int]] = {}
    for state, bucket, count in rows:
        by_state.setdefault(state, {})[bucket] = count
    return by_state


def _unfinished(at: datetime) -> Mapping[int, int]:
    """The orders that had been placed and had not ended at that time, by the bucket of their age."""
    rows = fetch(
        """
        WITH process AS (
            SELECT p.* FROM unnest(ARRAY['pending', 'processing', 'error']) AS unfinished (state),
                   LATERAL (SELECT order_id, created_at FROM orders_orderprocess
                             WHERE process_state = unfinished.state
                             ORDER BY created_at LIMIT %(most)s) AS p
             UNION ALL
            (SELECT order_id, created_at FROM orders_orderprocess
              WHERE finished_at >= %(at)s ORDER BY finished_at DESC LIMIT %(most_ended)s)
        ), placed AS (
            SELECT coalesce(o.placed_at, process.created_at) AS at
              FROM process LEFT JOIN orders_order AS o ON o.id = process.order_id
             UNION ALL
            (SELECT posted_at FROM orders_submissionmessage ORDER BY id LIMIT %(most)s)
        )
        SELECT width_bucket(extract(epoch FROM %(at)s - placed.at)::float8, %(bounds)s::float8[]), count(*)
          FROM placed WHERE placed.at < %(at)s GROUP BY 1
        """,
        {"at": at, "most": MOST_UNFINISHED, "most_ended": MOST_ENDED, "bounds": list(AGE_BOUNDS)},
    )
    return dict(rows)


def _opened(began: datetime, ends: datetime) -> Mapping[int, tuple[int, int]]:
    """For each group, how many alerts opened then, and how many of them are about orders that went into Error."""
    rows = fetch(
        """
        SELECT group_id, count(*), count(order_id) FILTER (WHERE kind <> 'set_aside')
          FROM orders_alert WHERE opened_at >= %s AND opened_at < %s GROUP BY group_id
        """,
        [began, ends],
    )
    return {group: (opened, failed) for group, opened, failed in rows}


def _histogram(counts: Mapping[int, int]) -> list[int]:
    return [counts.get(bucket, 0) for bucket in range(AGES)]
