"""How long an order is likely to take, from what others have lately taken. A process reads the figures now and then."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from django.core.cache import cache

from orders.engine.runtime.sql import fetch
from orders.models import OrderProcess
from orders.selectors.customer_order import CustomerOrder
from orders.vocabulary import ProcessState

FINISHED_EXAMINED = 200
FEWEST_FINISHED = 20
"""With fewer finished orders than this, nothing is said about how long an order usually takes."""
USUAL_KEPT, QUEUED_KEPT = 60, 5
"""Seconds for which the figures are kept."""
QUEUED_EXAMINED = 200
SHORTEST, LONGEST = 1, 60
"""Seconds until a change is likely: with nothing known, and at most. To look once a minute is never too often."""


def usual_seconds() -> Mapping[str, float]:
    """How long nine in ten of the latest orders of each workflow took at most. One of which too few are among the
    latest orders is left out. No statement, if the figures were read within a minute."""
    return cache.get_or_set("usual_seconds_by_workflow", _read_usual, USUAL_KEPT) or {}


def seconds_until_change(order: CustomerOrder, *, now: datetime) -> int | None:
    """In how many seconds an order is likely to have changed; None once it has finished. No statement, if the figures
    were read within seconds.

    Orders of its workflow that were placed before it are inserted first, and from then on it takes as long as usual.
    """
    if order.is_finished:
        return None
    queued = cache.get_or_set("queued_seconds_by_workflow", _read_queued, QUEUED_KEPT) or {}
    takes: float = queued.get(order.workflow, 0.0) + usual_seconds().get(order.workflow, 0.0)
    rest = round(takes - (now - order.placed_at).total_seconds())
    return min(LONGEST, max(SHORTEST, rest))


def _read_usual() -> Mapping[str, float]:
    finished = OrderProcess.objects.filter(process_state=ProcessState.PROCESSED, finished_at__isnull=False)
    rows = finished.order_by("-finished_at").values_list("workflow", "created_at", "finished_at")
    took = defaultdict(list)
    for workflow, begin, end in rows[:FINISHED_EXAMINED]:
        if end:
            took[workflow].append((end - begin).total_seconds())
    return {
        workflow: sorted(seconds)[int(len(seconds) * 0.9)]
        for workflow, seconds in took.items()
        if len(seconds) >= FEWEST_FINISHED
    }


def _read_queued() -> Mapping[str, float]:
    """For how long the first submission of each workflow has been on the queue."""
    rows = fetch(
        """
        SELECT workflow, extract(epoch FROM statement_timestamp() - min(posted_at))::float8
          FROM (SELECT body ->> 'workflow' AS workflow, posted_at
                  FROM orders_submissionmessage ORDER BY id LIMIT %s) AS first
         GROUP BY workflow
        """,
        [QUEUED_EXAMINED],
    )
    return dict(rows)
