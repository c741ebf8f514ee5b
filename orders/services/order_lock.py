"""What all acts on an order share: locking it, resetting a failed step, and giving the order back to the schedulers."""

from uuid import UUID

from orders.business.signals import queues_of
from orders.engine import alerts, state_store
from orders.engine.channels import status
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.errors import SaswebError
from orders.engine.rows import Actor, ProcessRow, StepRow
from orders.vocabulary import ActorKind, Goal, Outcome, ProcessState, StatusKind, StepStatus


class NoSuchOrderError(SaswebError):
    """Raised when an order does not exist, or its submission has not been inserted yet."""


def operator(name: str) -> Actor:
    """Returns an operator as the actor of an order's events."""
    return Actor(ActorKind.OPERATOR, name)


def lock_order(order_id: UUID) -> tuple[ProcessRow, list[StepRow]]:
    """Locks an order until the transaction ends, and reads its steps. Raises `NoSuchOrderError`.

    A scheduler passes by an order that is locked, and would come back to it with its next poll only. So the schedulers
    are woken when the transaction ends, also if nothing was changed.
    """
    row = state_store.lock_one(order_id)
    if row is None:
        raise NoSuchOrderError(f"Order {order_id} is not in the state store.")
    wake(Topic.SCHEDULER)
    return row, state_store.steps_of([order_id])[order_id]


def reset_step(step: StepRow, goal: str) -> StepRow:
    """Returns a failed step made ready for another try, or for its compensation if that is the order's goal.

    A step that was definitely refused moves to its next generation, so its idempotency key is new (rule 5). On the way
    back it keeps its generation: it is not performed again, and the key of a notice about it stays the same. A step
    whose present generation is to be reversed first goes back, too, whatever the order's goal.
    """
    reset = step._replace(
        failure_count=0,
        compensation_failure_count=0,
        extended_waits=0,
        not_before=None,
        wanted_since=None,
        paused_since=None,
        awaits_until=None,
    )
    is_left = goal == Goal.COMPENSATE and step.outcome in (Outcome.DONE, Outcome.UNKNOWN)
    if is_left or step.is_reversed_first:
        return reset._replace(state=StepStatus.COMPENSATING)
    if step.outcome == Outcome.REFUSED and goal == Goal.COMPLETE:
        reset = reset.next_generation()
    return reset._replace(state=StepStatus.NOT_STARTED)


def released(row: ProcessRow) -> ProcessRow:
    """Returns an order as the schedulers get it back: Pending, and due at once."""
    return row._replace(
        process_state=ProcessState.PENDING,
        locked_by=None,
        not_before=None,
        complete_by=None,
        announced=True,
    )


def reversal_detail(step: StepRow) -> dict[str, bool]:
    """What the history says of a failed step that is resubmitted, if what it may have done is reversed first."""
    return {"reversed_first": True} if step.is_reversed_first else {}


def release_order(row: ProcessRow, *, by: str, resolution: str) -> None:
    """Makes an order Pending and unlocked, closes its alert, and wakes the schedulers.

    If no scheduler has reported the order's failure to the application yet, reports it first, so that the application
    hears of it before anything that follows.
    """
    if not row.announced:
        cause = alerts.open_causes([row.order_id]).get(row.order_id)
        queues = queues_of(row.workflow, row.reply_to)
        status.post(status.Status(queue, row.order_id, StatusKind.FAILED, cause) for queue in queues)
    state_store.write_processes([released(row)])
    alerts.close_alerts([row.order_id], by=by, resolution=resolution)
    wake(Topic.SCHEDULER, Topic.PROGRESS)
