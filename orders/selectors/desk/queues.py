"""How much waits in each queue, and for how long the oldest of it has waited."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from orders.engine.runtime.sql import fetch
from orders.selectors.desk.overview import oldest_ready

MOST_QUEUED = 100_000
"""Where counting a queue stops: at one above this."""


class QueueName(StrEnum):
    """The queues from which roles take their work; the agents' requests are in `orders.selectors.desk.agents`."""

    SUBMISSIONS = "submissions"
    ORDERS = "orders"
    """Orders that wait for a scheduler and for nothing else."""
    REPLIES = "replies"
    OUTBOX = "outbox"
    WEBHOOKS = "webhooks"
    """Changes for clients' webhooks that are not disabled."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """A queue. `depth` is counted up to `MOST_QUEUED` + 1.

    `oldest_seconds` is how long the oldest of it has waited; in the outbox and for webhooks, how long ago the first
    message that is due was to be sent. None if nothing waits, or nothing is due.
    """

    name: QueueName
    depth: int
    oldest_seconds: float | None


_QUEUES = """
    SELECT 'submissions',
           (SELECT count(*) FROM (SELECT FROM orders_submissionmessage ORDER BY id LIMIT %(most)s) AS few),
           (SELECT posted_at FROM orders_submissionmessage ORDER BY id LIMIT 1)
     UNION ALL
    SELECT 'replies',
           (SELECT count(*) FROM (SELECT FROM orders_agentreply ORDER BY id LIMIT %(most)s) AS few),
           (SELECT posted_at FROM orders_agentreply ORDER BY id LIMIT 1)
     UNION ALL
    SELECT 'orders',
           (SELECT count(*) FROM (SELECT FROM orders_orderprocess
                                   WHERE process_state = 'pending' AND not_before IS NULL LIMIT %(most)s) AS few)
         + (SELECT count(*) FROM (SELECT FROM orders_orderprocess
                                   WHERE process_state IN ('pending', 'processing') AND process_state = 'pending'
                                     AND not_before <= %(now)s
                                   ORDER BY not_before LIMIT %(most)s) AS few),
           NULL
     UNION ALL
    SELECT 'outbox',
           (SELECT count(*) FROM (SELECT FROM orders_outgoingmessage
                                   WHERE state IN ('queued', 'sending') LIMIT %(most)s) AS few),
           (SELECT min(first.due_at)
              FROM generate_series(0, 1) AS of(priority),
                   LATERAL (SELECT due_at FROM orders_outgoingmessage AS m
                             WHERE m.priority = of.priority AND due_at IS NOT NULL
                             ORDER BY due_at LIMIT 1) AS first)
     UNION ALL
    SELECT 'webhooks',
           (SELECT count(*) FROM (SELECT FROM orders_webhookendpoint AS endpoint,
                                         LATERAL (SELECT FROM orders_webhookdelivery
                                                   WHERE endpoint_id = endpoint.id AND state <> 'delivered'
                                                   LIMIT %(most)s) AS undelivered
                                   WHERE endpoint.disabled_at IS NULL LIMIT %(most)s) AS few),
           (SELECT min(first.due_at)
              FROM orders_webhookendpoint AS endpoint,
                   LATERAL (SELECT due_at FROM orders_webhookdelivery
                             WHERE endpoint_id = endpoint.id AND due_at IS NOT NULL
                             ORDER BY due_at LIMIT 1) AS first
             WHERE endpoint.disabled_at IS NULL)
"""


def queues(*, now: datetime) -> dict[QueueName, Queue]:
    """Every queue, by its name. Two statements, each by an index."""
    rows = {name: (depth, at) for name, depth, at in fetch(_QUEUES, {"most": MOST_QUEUED + 1, "now": now})}
    rows["orders"] = (rows["orders"][0], oldest_ready(now))
    return {
        name: Queue(name=name, depth=rows[name][0], oldest_seconds=_seconds_since(rows[name][1], now))
        for name in QueueName
    }


def _seconds_since(at: datetime | None, now: datetime) -> float | None:
    """How long ago that was; None if it was never, or has yet to come."""
    return None if at is None or at > now else (now - at).total_seconds()
