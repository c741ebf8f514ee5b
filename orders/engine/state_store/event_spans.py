"""The spans of what happens to orders: the decisions of schedulers, and what submission, the supervisor and people do.

Each lasts from the moment it was decided until it is committed, so what a killed process has not committed is in no
trace.
"""

import time
from collections.abc import Iterable
from functools import partial

from django.db import transaction

from orders.engine.rows import EventRow
from orders.tracing import ids
from orders.tracing.spans import Kind, Span, is_on, record
from orders.vocabulary import ActorKind, EventKind

LEFT_OUT = frozenset(
    {
        EventKind.CALL_FAILED,
        EventKind.INQUIRED,
        EventKind.CLAIMED,
        EventKind.DUPLICATE_IGNORED,
        EventKind.LINK_MAILED,
    }
)
"""What other spans say: those of the calls, and of the step that a claim starts; and what is no part of the order's
way."""
SENDS = frozenset({EventKind.STEP_STARTED, EventKind.COMPENSATION_STARTED})
"""The events that hand a request to an agent host."""
FAILURES = frozenset(
    {
        EventKind.STEP_REFUSED,
        EventKind.STEP_FAILED,
        EventKind.STEP_TIMED_OUT,
        EventKind.STEP_GIVEN_UP,
        EventKind.COMPENSATION_FAILED,
        EventKind.COMPENSATION_TIMED_OUT,
        EventKind.ORDER_OVERRAN,
        EventKind.ERROR,
        EventKind.SET_ASIDE,
    }
)


def trace_events(events: Iterable[EventRow]) -> None:
    """Records the spans of these events, once the transaction commits."""
    if is_on():
        transaction.on_commit(partial(_record, list(events), time.time()))


def _record(events: Iterable[EventRow], began: float) -> None:
    ended = time.time()
    for event in events:
        if event.kind not in LEFT_OUT:
            record(span_of(event, began=began, ended=ended))


def span_of(event: EventRow, *, began: float, ended: float) -> Span:
    """The span of an event. Pure. A person's name is not in it."""
    sends = event.kind in SENDS
    request = ids.request_span_id(event.order_id, event.step, event.attempt) if event.step else 0
    facts: dict[str, str | int] = {"sasweb.actor": str(event.actor.kind)}
    if event.actor.kind not in (ActorKind.CUSTOMER, ActorKind.OPERATOR):
        facts["sasweb.instance"] = event.actor.name
    if event.step:
        facts |= {"sasweb.step": event.step, "sasweb.attempt": event.attempt}
    detail = event.detail or {}
    if code := detail.get("code"):
        facts["sasweb.code"] = str(code)
    return Span(
        name=f"{event.actor.kind} {event.kind}",
        order_id=event.order_id,
        began=began,
        ended=ended,
        span_id=request if sends else 0,
        kind=Kind.PRODUCER if sends else Kind.INTERNAL,
        links=() if sends else _links(event, request, detail.get("instance")),
        attributes=facts,
        error=str(event.kind) if event.kind in FAILURES else "",
    )


def _links(event: EventRow, request: int, host: str | None) -> tuple[int, ...]:
    """What handed this over: the call whose answer it takes, or else the request of the attempt."""
    if host:
        return (ids.call_span_id(event.order_id, event.step, event.attempt, host),)
    return (request,) if event.step and event.attempt else ()
