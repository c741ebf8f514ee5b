"""Acts on one order: resubmits what failed (O2), cancels and refunds it (C10), replays a submission set aside (S3).

Each act is one transaction, locks the order first, and returns what really happened. Placing an order is in
`orders.services.placing`.
"""

from uuid import UUID

from django.db import transaction

from orders.engine import alerts, state_store
from orders.engine.channels import status, submissions
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.errors import SaswebError
from orders.engine.rows import Actor, EventRow, ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.services.results import Result, ResultStatus
from orders.vocabulary import (
    ActorKind,
    EventKind,
    Goal,
    Outcome,
    ProcessState,
    Reason,
    StatusKind,
    StepStatus,
)


class NoSuchOrderError(SaswebError):
    """Raised when there is no such order, or its submission has not been inserted yet."""


def acknowledge_status(*, queue: str, message_id: int) -> bool:
    """Deletes a message of a response queue that its application has dealt with (Q2); False if there is none."""
    return status.delete(queue=queue, message_id=message_id)


def resubmit(*, order_id: UUID, by: str, reason: str = "", step: str | None = None) -> Result:
    """Has the failed steps of an order in Error tried again, or one of them; processing goes on from there (O2).

    A step whose outcome is unknown keeps its idempotency key, so that nothing is done twice; one that was definitely
    refused gets a new one, so that it can succeed once the cause is fixed (rule 5). Raises `NoSuchOrderError`.
    """
    with transaction.atomic():
        row, steps = locked(order_id)
        if row.process_state != ProcessState.ERROR:
            return Result(
                status=ResultStatus.ALREADY,
                said=f"The order is {row.process_state}, so nothing was resubmitted.",
            )
        failed = [one for one in steps if one.state == StepStatus.FAILED and step in (None, one.name)]
        if step is not None and not failed:
            return Result(status=ResultStatus.REFUSED, said=f"Step {step!r} has not failed.")
        others = [one.name for one in steps if one.state == StepStatus.FAILED and one not in failed]
        if others:
            return Result(
                status=ResultStatus.REFUSED,
                said=f"The order cannot continue, because {', '.join(others)} failed too. Resubmit the whole order.",
            )
        afresh = [again(one, row.goal) for one in failed]
        state_store.write_steps([StepWrite(after, after.attempt) for after in afresh])
        forgiven = sum(one.failure_count + one.undo_failure_count for one in failed) + row.overruns
        row = row._replace(failure_count=row.failure_count - forgiven, overruns=0)
        release(row, by=by, resolution="resubmitted")
        state_store.record_events(
            EventRow(order_id, EventKind.RESUBMITTED, operator(by), one.name, one.attempt, {"reason": reason})
            for one in failed
        )
        if not failed:
            state_store.record_events(
                [EventRow(order_id, EventKind.RESUBMITTED, operator(by), detail={"reason": reason})]
            )
    names = ", ".join(one.name for one in failed) or "the order"
    return Result(status=ResultStatus.DONE, said=f"Resubmitted {names}.")


def again(step: StepRow, goal: str) -> StepRow:
    """A failed step as it is to be tried again."""
    fresh = step._replace(
        failure_count=0, undo_failure_count=0, extended_waits=0, not_before=None, wanted_since=None
    )
    if goal == Goal.COMPENSATE and step.outcome in (Outcome.DONE, Outcome.UNKNOWN):
        return fresh._replace(state=StepStatus.COMPENSATING)
    if step.outcome == Outcome.REFUSED:
        fresh = fresh._replace(generation=step.generation + 1, outcome=Outcome.NONE, sent_at=None)
    return fresh._replace(state=StepStatus.NOT_STARTED)


def compensate(*, order_id: UUID, by: str, reason: str = "") -> Result:
    """Has a whole order undone, in whatever state it is (C10). Raises `NoSuchOrderError`."""
    with transaction.atomic():
        row, _ = locked(order_id)
        if row.goal == Goal.COMPENSATE:
            said = {
                ProcessState.COMPENSATED: "The order is already cancelled and refunded.",
                ProcessState.ERROR: (
                    "The order is already being cancelled and refunded, and a compensation failed. Resubmit it."
                ),
            }.get(ProcessState(row.process_state), "The order is already being cancelled and refunded.")
            return Result(status=ResultStatus.ALREADY, said=said)
        release(row._replace(goal=Goal.COMPENSATE), by=by, resolution="cancelled and refunded")
        state_store.record_events(
            [
                EventRow(
                    order_id,
                    EventKind.COMPENSATION_REQUESTED,
                    operator(by),
                    detail={"why": Reason.OPERATOR_REQUESTED, "reason": reason},
                )
            ]
        )
    return Result(status=ResultStatus.DONE, said="The order will be cancelled and refunded.")


def replay_set_aside(*, set_aside_id: int, by: str) -> Result:
    """Puts a submission that was set aside back on the queue, after its cause was fixed (S3)."""
    with transaction.atomic():
        order_id = submissions.replay(set_aside_id)
        if order_id is None:
            return Result(
                status=ResultStatus.ALREADY, said=f"No submission is set aside under number {set_aside_id}."
            )
        alerts.close_alerts([order_id], by=by, resolution="replayed")
        state_store.record_events([EventRow(order_id, EventKind.REPLAYED, operator(by))])
        wake(Topic.SUBMISSION, Topic.PROGRESS)
    return Result(status=ResultStatus.DONE, said=f"Order {order_id} is back on the submission queue.")


def operator(name: str) -> Actor:
    """An operator, as an order's history names her."""
    return Actor(ActorKind.OPERATOR, name)


def locked(order_id: UUID) -> tuple[ProcessRow, list[StepRow]]:
    """Locks an order, for an act on it, and reads its steps. Raises `NoSuchOrderError`."""
    row = state_store.lock_one(order_id)
    if row is None:
        raise NoSuchOrderError(f"There is no order {order_id} in the state store.")
    return row, state_store.steps_of([order_id])[order_id]


def release(row: ProcessRow, *, by: str, resolution: str) -> None:
    """Makes an order Pending and free, closes its alert, and wakes the schedulers.

    If no scheduler has told the application yet that the order failed, it is told now, before anything that follows.
    """
    if not row.announced:
        status.post([status.Status(row.reply_to, row.order_id, StatusKind.FAILED)])
    state_store.write_processes(
        [
            row._replace(
                process_state=ProcessState.PENDING,
                locked_by=None,
                not_before=None,
                complete_by=None,
                announced=True,
            )
        ]
    )
    alerts.close_alerts([row.order_id], by=by, resolution=resolution)
    wake(Topic.SCHEDULER, Topic.PROGRESS)
