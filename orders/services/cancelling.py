"""Cancels an order wherever it is: in the state store, on the submission queue, or set aside.

Whoever cancels an order that is not inserted yet need not wait for that. It is inserted to be compensated, before any
of its steps is started, and if it cannot be inserted it ends at once.
"""

from collections.abc import Callable

from django.db import transaction

from orders.engine import alerts, state_store
from orders.engine.channels import submissions
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.services.act_results import Result
from orders.services.order_lock import NoSuchOrderError, lock_order

LOOKS = 3
"""How often the places are searched. A later search finds an order that moved during an earlier one."""

Cancel = Callable[[ProcessRow, list[StepRow]], Result]


def cancel_anywhere(request: EventRow, *, inserted: Cancel, done: Result, already: Result) -> Result:
    """Cancels an order: with `inserted` if it is in the state store, which it locks, and otherwise where it waits.

    `request` is the event of the request, and its actor closes the alert of an order that was set aside. Raises
    `NoSuchOrderError`, also for an archived order.
    """
    with transaction.atomic():
        for _ in range(LOOKS):
            try:
                row, steps = lock_order(request.order_id)
            except NoSuchOrderError:
                is_new = submissions.cancel(request.order_id)
                if is_new is not None:
                    return _note(request, done) if is_new else already
            else:
                return inserted(row, steps)
        raise NoSuchOrderError(
            f"Order {request.order_id} is neither in the state store nor on its way there."
        )


def _note(request: EventRow, done: Result) -> Result:
    alerts.close_alerts([request.order_id], by=request.actor.name, resolution="cancelled")
    customer_id = submissions.customer_of_order(request.order_id)
    state_store.record_events([request._replace(customer_id=customer_id)])
    wake(Topic.SUBMISSION, Topic.PROGRESS)
    return done
