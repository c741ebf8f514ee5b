"""The span of a request while an agent works on it, in which the agent makes its calls."""

import time

from structlog.contextvars import bound_contextvars

from orders.engine.agent_host.call import Call
from orders.engine.channels.leases import Answer
from orders.engine.rows import Actor, EventRow
from orders.tracing import ids, spans
from orders.tracing.calls import calls_of
from orders.vocabulary import ActorKind, ReplyOutcome

CANCELLED = "cancelled"
FAILURES = frozenset(
    {ReplyOutcome.FAILED.value, ReplyOutcome.REFUSED.value, ReplyOutcome.ABANDONED.value, CANCELLED}
)


async def run_call(call: Call, *, instance: str) -> Answer | None:
    """Runs a call of this host, and records its span if there are traces.

    Every line that is logged meanwhile has the order's id, also those of the agent, of the libraries that it uses, and
    of threads that it starts with `asyncio.to_thread`.
    """
    with bound_contextvars(order_id=str(call.lease.order_id)):
        return await (_run_traced(call, instance) if spans.is_on() else call.run())


async def _run_traced(call: Call, instance: str) -> Answer | None:
    """A call that is cancelled has an outcome of its own: the lease was lost, or the host stops."""
    lease, began, outcome = call.lease, time.time(), CANCELLED
    span_id = ids.call_span_id(lease.order_id, lease.step, lease.attempt, instance)
    try:
        with calls_of(lease.order_id, span_id):
            answer = await call.run()
        outcome = str(answer.outcome) if answer else "handed over"
    finally:
        spans.record(
            spans.Span(
                name=f"{lease.agent} {lease.operation}",
                order_id=lease.order_id,
                began=began,
                ended=time.time(),
                span_id=span_id,
                kind=spans.Kind.CONSUMER,
                links=[ids.request_span_id(lease.order_id, lease.step, lease.attempt)],
                attributes={
                    "sasweb.agent": lease.agent,
                    "sasweb.step": lease.step,
                    "sasweb.attempt": lease.attempt,
                    "sasweb.delivery": lease.deliveries,
                    "sasweb.instance": instance,
                    "sasweb.outcome": outcome,
                },
                error=outcome if outcome in FAILURES else "",
            )
        )
    return answer


def events_of(call: Call, *, instance: str) -> list[EventRow]:
    """What goes into the order's history of a call of this host."""
    actor, lease = Actor(ActorKind.AGENTS, instance), call.lease
    return [
        EventRow(lease.order_id, kind, actor, lease.step, lease.attempt, detail, happened=happened)
        for (kind, detail), happened in zip(call.notes, call.noted_at, strict=True)
    ]
