"""What an order's customer is told of it by email, from what its page says at that moment."""

from orders.business.updates import OrderUpdate
from orders.business.words import Situation
from orders.selectors.order_updates import key_of, of_declined, of_moment
from orders.selectors.refusals import declined_step
from orders.selectors.tracked_orders import TrackedOrder
from orders.vocabulary import EventKind
from orders.wording.customers.progress import Progress

_UPDATES = {
    Situation.DECLINED: OrderUpdate.DECLINED,
    Situation.STOPPED: OrderUpdate.STOPPED,
    Situation.CANCEL_STUCK: OrderUpdate.CANCEL_STUCK,
    Situation.CANCELLED: OrderUpdate.CANCELLED,
}


def update_of(progress: Progress) -> OrderUpdate | None:
    """What there is to tell; None while everything goes as the customer expects."""
    if progress.is_late and progress.situation is not Situation.CANCELLING:
        return OrderUpdate.LATE
    if progress.situation is Situation.REVERSED and progress.is_in_error:
        return OrderUpdate.CANCEL_STUCK  # her notice could not be sent, so this email says it, too
    return _UPDATES.get(progress.situation)


def key_of_update(tracked: TrackedOrder, update: OrderUpdate) -> str:
    """The key of what the page says now, by which its email is posted once."""
    order = tracked.order
    occurrence = ""
    if update is OrderUpdate.DECLINED and (step := declined_step(order)):
        occurrence = of_declined(step.name, step.attempts)
    elif update in (OrderUpdate.STOPPED, OrderUpdate.CANCEL_STUCK):
        errors = [event.at for (kind, _), event in tracked.occurrences.items() if kind == EventKind.ERROR]
        occurrence = of_moment(max(errors)) if errors else ""
    return key_of(order.id, update, occurrence)
