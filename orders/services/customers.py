"""What a customer may do with an order that is placed: cancel it, pay in another way, ask for its link.

Each act is one transaction, locks the order first, and says what really happened; done twice, it is done once.
"""

from uuid import UUID

from django.db import transaction

from orders.engine import state_store
from orders.engine.channels import submissions
from orders.engine.rows import Actor, EventRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.mail import outbox
from orders.services.orders import again, locked, release
from orders.services.results import Result, ResultStatus
from orders.vocabulary import ActorKind, EventKind, Goal, MessageKind, ProcessState, Reason, StepStatus
from orders.workflow.customer_steps import PAYMENT, POINT_OF_NO_RETURN


def cancel(*, order_id: UUID, by: str) -> Result:
    """Has an order undone, if the money has not been asked for yet.

    Raises `NoSuchOrderError`, also while the order's submission has not been inserted.
    """
    with transaction.atomic():
        row, steps = locked(order_id)
        if row.goal == Goal.COMPENSATE:
            return Result(status=ResultStatus.ALREADY, said="The order is already cancelled.")
        if row.process_state == ProcessState.PROCESSED or _is_past_the_point(steps):
            return Result(
                status=ResultStatus.REFUSED,
                said="The order can no longer be cancelled, because its payment is being taken.",
            )
        release(row._replace(goal=Goal.COMPENSATE), by=by, resolution="cancelled")
        state_store.record_events(
            [
                EventRow(
                    order_id,
                    EventKind.COMPENSATION_REQUESTED,
                    _customer(by),
                    detail={"why": Reason.CUSTOMER_CANCELLED},
                )
            ]
        )
    return Result(status=ResultStatus.DONE, said="The order will be cancelled.")


def _customer(client: str) -> Actor:
    return Actor(ActorKind.CUSTOMER, client)


def _is_past_the_point(steps: list[StepRow]) -> bool:
    return any(step.name == POINT_OF_NO_RETURN and step.attempt for step in steps)


def pay_again(*, order_id: UUID, payment_method: str, by: str) -> Result:
    """Has a declined payment tried with another `payment_method`, a token of the payment gateway's.

    The refusal was definite, so the next try is of a new generation: its idempotency key is new. An order that is in
    Error for another cause stays there, and goes on with this payment once that is fixed. Raises `NoSuchOrderError`.
    """
    with transaction.atomic():
        row, steps = locked(order_id)
        if row.goal == Goal.COMPENSATE:
            return Result(
                status=ResultStatus.REFUSED,
                said="The order can no longer be paid for, because it is being cancelled.",
            )
        step = next((one for one in steps if one.name == PAYMENT and _waits_for_customer(one)), None)
        if step is None:
            return Result(
                status=ResultStatus.ALREADY, said="No payment of this order is waiting for its customer."
            )
        state_store.edit_request(step, {"payment_method": payment_method}, keep_original=False)
        afresh = again(step, row.goal)._replace(error=None)
        state_store.write_steps([StepWrite(afresh, step.attempt)])
        if row.process_state != ProcessState.ERROR:
            forgiven = row.failure_count - step.failure_count - step.undo_failure_count
            release(row._replace(failure_count=forgiven), by=by, resolution="paid again")
        state_store.record_events(
            [EventRow(order_id, EventKind.PAID_AGAIN, _customer(by), step.name, step.attempt)]
        )
    return Result(status=ResultStatus.DONE, said="The payment will be tried again.")


def _waits_for_customer(step: StepRow) -> bool:
    return step.state == StepStatus.FAILED and (step.error or {}).get("waits_for") == "customer"


def order_of_key(*, client: str, key: str) -> UUID | None:
    """The order that this client placed with this idempotency key; None if there is none."""
    known = submissions.find_record(client=client, key=key)
    return known.order_id if known else None


def ask_for_link(*, order_id: UUID, email: str, site: str, language: str) -> None:
    """Has the link to a guest's order emailed, if `email` is the one it was ordered with.

    That is looked up when the email is composed: here nothing depends on it, not even the time it takes. `site` is the
    scheme and host of the link.
    """
    outbox.post(
        kind=MessageKind.ORDER_LINK,
        recipient=email.strip(),
        order_id=order_id,
        arguments={"site": site, "language": language},
    )
