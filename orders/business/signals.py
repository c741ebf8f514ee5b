"""What a business may be told of its orders, after it has happened.

    @receiver(order_processed, sender=AnalyseSample)
    def print_report(*, order_id, subject, data, **_):
        ...

The jobs process sends them, one order at a time, soon after the transaction in which it happened. The receivers run in
a transaction of their own. If it commits they are not told again, so what they write to this database is written once;
if one raises, all are told again later, with growing waits. What a receiver does elsewhere may therefore happen twice.
It has the time of any transaction, 5 s; what takes longer belongs in a task of its own. Signals of one order come in
the order in which things happened, except after a failure. Connect the receivers in
`AppConfig.ready`, so that every process knows that there are some.

Each has the `sender`, which is the kind of order; `order_id`, `subject` and `data`; and `detail`, which for an error
has its `reason`, `code` and `message`, and the `step` if one failed; for a step that was declined `step`, `code`,
`message` and `waiting_until`; and for a compensation its `reason`. Of an order whose value a step takes, it says at the
end whether it was `charged` and, after a compensation, `refunded`.
"""

from collections.abc import Mapping

from django.dispatch import Signal

from orders.business import registry
from orders.engine.contracts import announcement_queue
from orders.vocabulary import StatusKind

order_received = Signal()
"""The order has been inserted."""
order_processed = Signal()
"""Every step is completed."""
order_declined = Signal()
"""A step was declined, and waits for the customer."""
order_in_error = Signal()
"""The order waits for an operator."""
order_compensated = Signal()
"""Every effect of the order has been reversed. Not sent of one that was cancelled and could never be inserted."""

SIGNALS: Mapping[str, Signal] = {
    StatusKind.RECEIVED: order_received,
    StatusKind.COMPLETED: order_processed,
    StatusKind.DECLINED: order_declined,
    StatusKind.FAILED: order_in_error,
    StatusKind.COMPENSATED: order_compensated,
}


def queue_of(name: str) -> str:
    """The queue on which what is to be told of a kind's orders waits."""
    return announcement_queue(name)


def queues_of(workflow: str, reply_to: str) -> tuple[str, ...]:
    """The response queues of an order (Q3), as `Workflow.queues` gives them."""
    kind = registry.find_kind(workflow)
    return (reply_to, queue_of(workflow)) if kind and has_receivers(kind) else (reply_to,)


def has_receivers(sender: object) -> bool:
    """Whether anybody is told of orders of this kind."""
    return any(signal.has_listeners(sender) for signal in SIGNALS.values())
