"""What customers may do: order as a guest, and cancel an order, pay for it again, or ask for its link.

Cancelling and paying again are one transaction each. They lock the order first and return what actually happened;
repeating them changes nothing more.
"""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from orders.business.editing import customer_editable, is_point_of_no_return, read
from orders.business.placing import NewOrder
from orders.engine import state_store
from orders.engine.channels.submission_records import find_record
from orders.engine.rows import Actor, EventRow, ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.outbox import queue
from orders.selectors import order_waits, tracked_orders
from orders.selectors.order_numbers import orders_with_number
from orders.selectors.tracked_orders import GUEST
from orders.services import placing
from orders.services.act_results import Result, ResultStatus
from orders.services.cancelling import cancel_anywhere
from orders.services.edited_orders import write_values
from orders.services.order_lock import lock_order, release_order, reset_step
from orders.vocabulary import ActorKind, EventKind, Goal, MessageKind, ProcessState, Reason, StepStatus

NOBODY = UUID(int=0)
"""The id of no order."""


def place_order_as_guest(
    *, order: NewOrder, email: str, idempotency_key: str, language: str
) -> placing.PlacedOrder:
    """Places an order without an account, and posts the email with its link to `email` in the same transaction.

    The email is posted once, however often the order is placed with the same key. Raises what `placing.place_order`
    raises.
    """
    with transaction.atomic():
        placed_order = placing.place_order(client=GUEST, order=order, idempotency_key=idempotency_key)
        if not placed_order.replayed:
            ask_for_link(order_id=placed_order.order_id, email=email, language=language)
    return placed_order


def cancel(*, order_id: UUID, by: str) -> Result:
    """Starts the compensation of an order, unless it is past its point of no return.

    An order that is not inserted yet, or could not be, is cancelled as well. Raises `NoSuchOrderError`.
    """
    request = EventRow(
        order_id,
        EventKind.COMPENSATION_REQUESTED,
        _customer(by),
        detail={"why": Reason.CUSTOMER_CANCELLED},
    )
    done = Result(status=ResultStatus.DONE, message="The order will be cancelled.")
    already = Result(status=ResultStatus.ALREADY, message="The order is already cancelled.")

    def cancel_inserted(row: ProcessRow, steps: list[StepRow]) -> Result:
        if row.goal == Goal.COMPENSATE:
            return already
        if row.process_state == ProcessState.PROCESSED or _is_past_the_point(row, steps):
            return Result(
                status=ResultStatus.REFUSED,
                message="The order can no longer be cancelled, because it is past its point of no return.",
            )
        release_order(row._replace(goal=Goal.COMPENSATE), by=by, resolution="cancelled")
        state_store.record_events([request])
        return done

    return cancel_anywhere(request, inserted=cancel_inserted, done=done, already=already)


def _customer(client: str) -> Actor:
    return Actor(ActorKind.CUSTOMER, client)


def _is_past_the_point(row: ProcessRow, steps: list[StepRow]) -> bool:
    return any(step.attempt and is_point_of_no_return(row.workflow, row.version, step.name) for step in steps)


def resolve(
    *, order_id: UUID, changes: Mapping[str, Any], by: str, fields: Collection[str] | None = None
) -> Result:
    """Retries a step that waits for its customer with what she has changed, such as how she pays.

    `changes` are new values of the fields that the step lets its customer change; `fields` are all that may be changed
    where she was asked, so that with no changes that step is tried again as it is. The refusal was definite, so the
    retry belongs to a new generation and has a new idempotency key. An order that is in Error for another reason stays
    there, and uses the change once that is fixed. Raises `NoSuchOrderError`, and `BadOrderError` for an invalid value.
    """
    editable = frozenset(changes if fields is None else fields)
    with transaction.atomic():
        row, steps = lock_order(order_id)
        if row.goal == Goal.COMPENSATE:
            return Result(
                status=ResultStatus.REFUSED,
                message="The order can no longer be changed, because it is being cancelled.",
            )
        step = next((step for step in steps if _waits_for(row, step, editable)), None)
        if step is None:
            return Result(
                status=ResultStatus.ALREADY, message="Nothing of this order is waiting for its customer."
            )
        values = {name: read(row.workflow, name, value) for name, value in changes.items()}
        state_store.edit_request(step, values, keep_original=False)
        write_values(order_id, values)
        reset = reset_step(step, row.goal)._replace(error=None)
        state_store.write_steps([StepWrite(reset, step.attempt)])
        if row.process_state != ProcessState.ERROR:
            forgiven = row.failure_count - step.failure_count - step.compensation_failure_count
            release_order(row._replace(failure_count=forgiven), by=by, resolution="paid again")
        state_store.record_events(
            [EventRow(order_id, EventKind.PAID_AGAIN, _customer(by), step.name, step.attempt)]
        )
    return Result(status=ResultStatus.DONE, message="It will be tried again.")


def _waits_for(row: ProcessRow, step: StepRow, fields: frozenset[str]) -> bool:
    """Whether a step waits for its customer to change these fields."""
    is_declined = step.state == StepStatus.FAILED and order_waits.is_declined(step.error)
    return is_declined and fields <= customer_editable(row.workflow, row.version, step.name)


def order_of_key(*, client: str, key: str) -> UUID | None:
    """Returns the order that a client placed with an idempotency key, or None."""
    record = find_record(client=client, key=key)
    return record.order_id if record else None


def renew_link(*, order_id: UUID, language: str) -> None:
    """Requests an email with a new link to a guest's order, to the email address given with the order.

    Nothing happens if there is no such order of a guest.
    """
    guest = tracked_orders.guest_address(order_id)
    if guest is not None:
        ask_for_link(order_id=order_id, email=guest.email, language=language)


def ask_for_link_by_number(*, number: str, email: str, language: str) -> None:
    """Requests what `ask_for_link` does for the order with this number, as `read_number` returns it.

    Without such an order an email is requested all the same, which nobody gets: the answer takes as long.
    """
    for order_id in orders_with_number(number) or [NOBODY]:
        ask_for_link(order_id=order_id, email=email, language=language)


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
