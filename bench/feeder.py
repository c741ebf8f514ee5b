"""New orders at a steady rate, inserted as submission does, and the time that each takes."""

import time
from typing import NamedTuple

from bench import noop, server
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.runtime.sql import fetch

TICK = 0.1
"""Seconds between two groups of new orders."""


class Fed(NamedTuple):
    """New orders: how many, how many a second, and the milliseconds of each from stored to Processed."""

    orders: int
    rate: float
    milliseconds: list[float]


def feed(rate: float, seconds: float, *, tick: float = TICK) -> Fed:
    """Adds orders at a steady rate, in a group every `tick` seconds, and waits until they are Processed."""
    before = server.processed()
    began = server.database_time()
    started = time.monotonic()
    total = max(1, round(rate * seconds))
    stored = 0
    while stored < total:
        spent = time.monotonic() - started
        due = min(total, round(rate * (spent + tick)))
        if due > stored:
            noop.fill(due - stored)
            wake(Topic.SCHEDULER)
            stored = due
        time.sleep(max(0.0, started + spent + tick - time.monotonic()))
    lasted = time.monotonic() - started
    server.wait_until_processed(before + total)
    times = milliseconds_since(began)
    assert len(times) == total, f"{len(times)} of {total} new orders"
    return Fed(total, total / lasted, times)


def milliseconds_since(began: float) -> list[float]:
    """Milliseconds from stored to Processed of each order that was stored after a moment of the database's clock."""
    rows = fetch(
        """
        SELECT 1000 * extract(epoch FROM finished_at - created_at) FROM orders_orderprocess
         WHERE workflow = %s AND created_at >= to_timestamp(%s) AND finished_at IS NOT NULL
        """,
        [noop.FOUR.name, began],
    )
    return [float(milliseconds) for (milliseconds,) in rows]
