"""What customers may do: order as a guest, cancel an order, correct it, or ask for its link.

Cancelling is one transaction, as a correction is (`corrections`). It locks the order first and returns what actually
happened; repeating it changes nothing more.
"""

from uuid import UUID

from django.db import transaction

from orders.business.editing import is_point_of_no_return
from orders.business.placing import NewOrder
from orders.engine import state_store
from orders.engine.channels.submission_records import find_record
from orders.engine.rows import Actor, EventRow, ProcessRow, StepRow
from orders.outbox import queue
from orders.outbox.order_link_emails import IS_NEW
from orders.selectors import tracked_orders
from orders.selectors.order_numbers import orders_with_number
from orders.selectors.tracked_orders import GUEST
from orders.services import placing
from orders.services.act_results import Result, ResultStatus
from orders.services.cancelling import cancel_anywhere
from orders.services.corrections import preview, resolve
from orders.services.order_lock import release_order
from orders.vocabulary import ActorKind, EventKind, Goal, MessageKind, ProcessState, Reason

__all__ = [
    "ask_for_link",
    "cancel",
    "order_of_key",
    "place_order_as_guest",
    "preview",
    "renew_link",
    "resolve",
]

NOBODY = UUID(int=0)
"""The id of no order."""


def place_order_as_guest(
    *, order: NewOrder, email: str, idempotency_key: str, language: str
) -> placing.PlacedOrder:
    """Places an order without an account, and posts the email that says so, with its link, to `email` in the same
    transaction.

    The email is posted once, however often the order is placed with the same key. Raises what `placing.place_order`
    raises.
    """
    with transaction.atomic():
        placed_order = placing.place_order(client=GUEST, order=order, idempotency_key=idempotency_key)
        if not placed_order.replayed:
            _post_link(order_id=placed_order.order_id, email=email, language=language, is_new=True)
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


def order_of_key(*, client: str, key: str) -> UUID | None:
    """Returns the order that a client placed with an idempotency key, or None."""
    record = find_record(client=client, key=key)
    return record.order_id if record else None


def renew_link(*, order_id: UUID, language: str, attempt: str = "") -> None:
    """Requests an email with a new link to a guest's order, to the email address given with the order.

    Nothing happens if there is no such order of a guest.
    """
    guest = tracked_orders.guest_address(order_id)
    if guest is not None:
        ask_for_link(order_id=order_id, email=guest.email, language=language, attempt=attempt)


def ask_for_link_by_number(*, number: str, email: str, language: str, attempt: str = "") -> None:
    """Requests what `ask_for_link` does for the order with this number, as `read_number` returns it.

    Without such an order an email is requested all the same, which nobody gets: the answer takes as long.
    """
    for order_id in orders_with_number(number) or [NOBODY]:
        ask_for_link(order_id=order_id, email=email, language=language, attempt=attempt)


def ask_for_link(*, order_id: UUID, email: str, language: str, attempt: str = "") -> None:
    """Requests an email with the link to a guest's order. It is sent only if `email` is the one given with the order.
    Of two requests for an order with the same `attempt` only the first counts.

    That is checked when the email is composed, so the answer, and how long it takes, reveal nothing.
    """
    key = queue.key_of_attempt(MessageKind.ORDER_LINK, attempt, order_id)
    _post_link(order_id=order_id, email=email, language=language, key=key)


def _post_link(
    *, order_id: UUID, email: str, language: str, is_new: bool = False, key: str | None = None
) -> None:
    queue.post(
        key=key,
        kind=MessageKind.ORDER_LINK,
        recipient=email.strip(),
        order_id=order_id,
        arguments={"language": language} | ({IS_NEW: True} if is_new else {}),
    )
