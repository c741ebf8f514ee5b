"""Acts on one order: resubmit it (O2), compensate it (C10), or replay a submission that was set aside (S3).

Each act is one transaction. It locks the order first and returns what actually happened. Orders are placed by
`orders.services.placing`.
"""

from collections.abc import Mapping
from uuid import UUID

from django.db import transaction

from orders.engine import alerts, state_store
from orders.engine.channels import submissions
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.selectors.desk.confirmation import confirmation
from orders.services.act_results import Result, ResultStatus
from orders.services.cancelling import cancel_anywhere
from orders.services.order_lock import lock_order, operator, release_order, reset_step, reversal_detail
from orders.services.refund_approval import Approval, why_not_refund
from orders.vocabulary import EventKind, Goal, ProcessState, Reason, StepStatus
from orders.wording.cancelling import WITHOUT_MONEY, cancel_words

UNDER_WAY = "The order is already being cancelled."


def resubmit_order(
    *,
    order_id: UUID,
    by: str,
    reason: str = "",
    step: str | None = None,
    resolution: str = "resubmitted",
) -> Result:
    """Retries the failed steps of an order in Error, or only `step`; the order continues from there (O2).

    A step whose outcome is unknown keeps its idempotency key, so nothing is done twice. A step that was definitely
    refused gets a new key, so it can succeed once the cause is fixed (rule 5). `resolution` is how the order's alert
    is said to be resolved. Raises `NoSuchOrderError`.
    """
    with transaction.atomic():
        row, steps = lock_order(order_id)
        if why_not := why_not_resubmit(row):
            return Result(status=ResultStatus.ALREADY, message=f"{why_not}, so nothing was resubmitted.")
        all_failed = [candidate for candidate in steps if candidate.state == StepStatus.FAILED]
        failed = [candidate for candidate in all_failed if step in (None, candidate.name)]
        if step is not None and not failed:
            return Result(status=ResultStatus.REFUSED, message=f"Step {step!r} has not failed.")
        others = [other.name for other in all_failed if other not in failed]
        if others:
            return Result(
                status=ResultStatus.REFUSED,
                message=f"The order cannot continue, because {', '.join(others)} failed too. Resubmit the whole order.",
            )
        reset_steps = [reset_step(failure, row.goal) for failure in failed]
        state_store.write_steps([StepWrite(after, after.attempt) for after in reset_steps])
        forgiven = (
            sum(failure.failure_count + failure.compensation_failure_count for failure in failed)
            + row.overruns
        )
        row = row._replace(failure_count=row.failure_count - forgiven, overruns=0)
        release_order(row, by=by, resolution=resolution)
        actor, detail = operator(by), {"reason": reason}
        state_store.record_events(
            EventRow(
                order_id,
                EventKind.RESUBMITTED,
                actor,
                failure.name,
                failure.attempt,
                {**detail, **reversal_detail(failure)},
            )
            for failure in failed
        )
        if not failed:
            state_store.record_events([EventRow(order_id, EventKind.RESUBMITTED, actor, detail=detail)])
    names = ", ".join(failure.name for failure in failed) or "the order"
    return Result(status=ResultStatus.DONE, message=f"Resubmitted {names}.")


def why_not_resubmit(row: ProcessRow) -> str:
    """Why an order cannot be resubmitted, without a full stop; empty if it can be."""
    return "" if row.process_state == ProcessState.ERROR else f"The order is {row.process_state}"


def compensate_order(
    *,
    order_id: UUID,
    by: str,
    reason: str = "",
    approval: Approval | None = None,
) -> Result:
    """Starts the compensation of a whole order, whatever its state, and also before it is inserted (C10).

    A refund that needs an `approval` is refused without one, with an `ApprovalNeededError` as the cause. Raises
    `NoSuchOrderError`.
    """
    request = EventRow(
        order_id,
        EventKind.COMPENSATION_REQUESTED,
        operator(by),
        detail={"why": Reason.OPERATOR_REQUESTED, "reason": reason},
    )

    def compensate(row: ProcessRow, _: list[StepRow]) -> Result:
        if row.goal == Goal.COMPENSATE:
            messages: Mapping[str, str] = {
                ProcessState.COMPENSATED: "The order is already cancelled.",
                ProcessState.ERROR: (
                    "The order is already being cancelled, but a step could not be reversed. Resubmit it."
                ),
            }
            message = messages.get(row.process_state, UNDER_WAY)
            return Result(status=ResultStatus.ALREADY, message=message)
        if refusal := why_not_refund(order_id, approval=approval):
            return refusal
        words = cancel_words(confirmation(order_id).back)
        release_order(row._replace(goal=Goal.COMPENSATE), by=by, resolution="cancelled")
        state_store.record_events([request])
        return Result(status=ResultStatus.DONE, message=f"The order will be {words.state}.")

    return cancel_anywhere(
        request,
        inserted=compensate,
        done=Result(status=ResultStatus.DONE, message=f"The order will be {WITHOUT_MONEY.state}."),
        already=Result(status=ResultStatus.ALREADY, message=UNDER_WAY),
    )


def replay_submission(*, set_aside_id: int, by: str) -> Result:
    """Puts a submission that was set aside back on the queue, once its cause has been fixed (S3)."""
    with transaction.atomic():
        order_id = submissions.replay(set_aside_id)
        if order_id is None:
            return Result(
                status=ResultStatus.ALREADY,
                message=f"No submission is set aside under number {set_aside_id}.",
            )
        alerts.close_alerts([order_id], by=by, resolution="replayed")
        customer_id = submissions.customer_of_order(order_id)
        state_store.record_events(
            [EventRow(order_id, EventKind.REPLAYED, operator(by), customer_id=customer_id)]
        )
        wake(Topic.SUBMISSION, Topic.PROGRESS)
    return Result(status=ResultStatus.DONE, message=f"Order {order_id} is back on the submission queue.")
