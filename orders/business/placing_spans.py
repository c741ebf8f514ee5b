"""The first span of an order's trace: placing it."""

import time
from functools import partial
from uuid import UUID

from django.db import transaction

from orders.tracing import ids, spans


def trace_placing(order_id: UUID, workflow: str, traceparent: str, *, began: float) -> None:
    """Records, once the transaction commits, that an order has been placed since `began` (seconds since 1970). Its span
    links to that of the client."""
    if spans.is_on():
        span = spans.Span(
            name="place order",
            order_id=order_id,
            began=began,
            ended=time.time(),
            span_id=ids.first_span_id(order_id),
            kind=spans.Kind.PRODUCER,
            client=ids.read_traceparent(traceparent),
            attributes={"sasweb.workflow": workflow},
        )
        transaction.on_commit(partial(spans.record, span))
