"""The response queues of a client's programs, with how much is on them."""

from dataclasses import dataclass
from datetime import datetime

from orders.engine.runtime.sql import fetch
from orders.selectors.orders import client_of
from orders.selectors.paging import Page, page_of
from orders.selectors.response_queues import queue_of

COUNTED = 10_000
"""Messages of a queue that are counted at most: whoever asks how long a queue is must not have to wait for millions."""

BEHIND = "0"
"""The character behind the slash that ends the client's part of a queue's name."""


@dataclass(frozen=True, kw_only=True)
class QueueView:
    """A response queue on which there are messages. `oldest_age` is in seconds."""

    name: str
    messages: int
    leased: int
    oldest_posted_at: datetime
    oldest_age: int


def queues(*, customer_id: int, after: str, limit: int) -> Page[QueueView]:
    """A customer's own queues on which there are messages and whose names come after this one, by name.

    Each name is found by the index, whatever is on the queues before. The operators compare bytes, as the index does.
    """
    rows = fetch(
        """
        WITH RECURSIVE named (queue, number) AS (
            SELECT %(after)s::text, 0
             UNION ALL
            SELECT (SELECT message.queue
                      FROM orders_statusmessage AS message
                     WHERE message.queue ~>~ named.queue AND message.queue ~<~ %(end)s
                     ORDER BY message.queue USING ~<~
                     LIMIT 1), number + 1
              FROM named
             WHERE named.queue IS NOT NULL AND number < %(limit)s
        )
        SELECT named.queue, counted.messages, counted.leased, oldest.posted_at,
               extract(epoch FROM clock_timestamp() - oldest.posted_at)::bigint
          FROM named
         CROSS JOIN LATERAL (
            SELECT posted_at FROM orders_statusmessage WHERE queue = named.queue ORDER BY id LIMIT 1
         ) AS oldest
         CROSS JOIN LATERAL (
            SELECT count(*) AS messages, count(*) FILTER (WHERE leased_until > clock_timestamp()) AS leased
              FROM (SELECT leased_until FROM orders_statusmessage
                     WHERE queue = named.queue LIMIT %(counted)s) AS first
         ) AS counted
         WHERE named.number > 0
         ORDER BY named.number
        """,
        {
            "after": queue_of(customer_id, after),
            "end": f"{client_of(customer_id)}{BEHIND}",
            "limit": limit + 1,
            "counted": COUNTED,
        },
    )
    prefix = len(queue_of(customer_id, ""))
    views = [
        QueueView(
            name=queue[prefix:], messages=messages, leased=leased, oldest_posted_at=posted_at, oldest_age=age
        )
        for queue, messages, leased, posted_at, age in rows
    ]
    return page_of(views, limit)
