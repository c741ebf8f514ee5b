"""What customers may do: order as a guest, and cancel an order, pay for it again, or ask for its link.

Cancelling and paying again are one transaction each. They lock the order first and return what actually happened;
repeating them changes nothing more.
"""

from uuid import UUID

from django.db import transaction

from orders.engine import state_store
from orders.engine.channels import submissions
from orders.engine.rows import Actor, EventRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.outbox import queue
from orders.selectors import tracked_orders
from orders.selectors.tracked_orders import GUEST
from orders.services import placing
from orders.services.act_results import Result, ResultStatus
from orders.services.order_lock import lock_order, release_order, reset_step
from orders.vocabulary import ActorKind, EventKind, Goal, MessageKind, ProcessState, Reason, StepStatus
from orders.workflow.customer_steps import PAYMENT, POINT_OF_NO_RETURN


def place_order_as_guest(
    *, order: placing.NewOrder, idempotency_key: str, language: str
) -> placing.PlacedOrder:
    """Places an order without an account, and posts the email with its link in the same transaction.

    The email is posted once, however often the order is placed with the same key. Raises what `placing.place_order`
    raises.
    """
    with transaction.atomic():
        placed_order = placing.place_order(client=GUEST, order=order, idempotency_key=idempotency_key)
        if not placed_order.replayed:
            ask_for_link(order_id=placed_order.order_id, email=order.email, language=language)
    return placed_order


def cancel(*, order_id: UUID, by: str) -> Result:
    """Starts the compensation of an order, unless its payment has been requested.

    Raises `NoSuchOrderError`, also while the order's submission has not been inserted yet.
    """
    with transaction.atomic():
        row, steps = lock_order(order_id)
        if row.goal == Goal.COMPENSATE:
            return Result(status=ResultStatus.ALREADY, message="The order is already cancelled.")
        if row.process_state == ProcessState.PROCESSED or _is_past_the_point(steps):
            return Result(
                status=ResultStatus.REFUSED,
                message="The order can no longer be cancelled, because its payment is being taken.",
            )
        release_order(row._replace(goal=Goal.COMPENSATE), by=by, resolution="cancelled")
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
    return Result(status=ResultStatus.DONE, message="The order will be cancelled.")


def _customer(client: str) -> Actor:
    return Actor(ActorKind.CUSTOMER, client)


def _is_past_the_point(steps: list[StepRow]) -> bool:
    return any(step.name == POINT_OF_NO_RETURN and step.attempt for step in steps)


def pay_again(*, order_id: UUID, payment_method: str, by: str) -> Result:
    """Retries a declined payment with another `payment_method`, a token from the payment gateway.

    The refusal was definite, so the retry belongs to a new generation and has a new idempotency key. An order that is
    in Error for another reason stays there, and uses this payment method once that is fixed. Raises
    `NoSuchOrderError`.
    """
    with transaction.atomic():
        row, steps = lock_order(order_id)
        if row.goal == Goal.COMPENSATE:
            return Result(
                status=ResultStatus.REFUSED,
                message="The order can no longer be paid for, because it is being cancelled.",
            )
        step = next((step for step in steps if step.name == PAYMENT and _waits_for_customer(step)), None)
        if step is None:
            return Result(
                status=ResultStatus.ALREADY, message="No payment of this order is waiting for its customer."
            )
        state_store.edit_request(step, {"payment_method": payment_method}, keep_original=False)
        reset = reset_step(step, row.goal)._replace(error=None)
        state_store.write_steps([StepWrite(reset, step.attempt)])
        if row.process_state != ProcessState.ERROR:
            forgiven = row.failure_count - step.failure_count - step.compensation_failure_count
            release_order(row._replace(failure_count=forgiven), by=by, resolution="paid again")
        state_store.record_events(
            [EventRow(order_id, EventKind.PAID_AGAIN, _customer(by), step.name, step.attempt)]
        )
    return Result(status=ResultStatus.DONE, message="The payment will be tried again.")


def _waits_for_customer(step: StepRow) -> bool:
    return step.state == StepStatus.FAILED and (step.error or {}).get("waits_for") == "customer"


def order_of_key(*, client: str, key: str) -> UUID | None:
    """Returns the order that a client placed with an idempotency key, or None."""
    record = submissions.find_record(client=client, key=key)
    return record.order_id if record else None


def renew_link(*, order_id: UUID, language: str) -> None:
    """Requests an email with a new link to a guest's order, to the email address given with the order.

    Nothing happens if there is no such order of a guest.
    """
    guest = tracked_orders.guest_address(order_id)
    if guest is not None:
        ask_for_link(order_id=order_id, email=guest.email, language=language)


def ask_for_link(*, order_id: UUID, email: str, language: str) -> None:
    """Requests an email with the link to a guest's order. It is sent only if `email` is the one given with the order.

    That is checked when the email is composed, so the answer, and how long it takes, reveal nothing.
    """
    queue.post(
        kind=MessageKind.ORDER_LINK,
        recipient=email.strip(),
        order_id=order_id,
        arguments={"language": language},
    )
