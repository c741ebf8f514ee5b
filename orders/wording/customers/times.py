"""When what is shown of an order was done, and was reversed. All by the database's clock."""

from datetime import datetime

from orders.selectors.customer_order import CustomerStep
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import EventKind, StepStatus

DONE = (EventKind.STEP_COMPLETED, EventKind.SETTLED_DONE)
REVERSED = (EventKind.STEP_COMPENSATED, EventKind.SETTLED_COMPENSATED)


def done_at(step: CustomerStep, occurrences: Occurrences) -> datetime | None:
    """When a step was done; None if that is not known. Of a step that was done anew, the last time counts."""
    return _last(DONE, step, occurrences) or step.completed_at


def reversed_at(step: CustomerStep, occurrences: Occurrences) -> datetime | None:
    """When what a step did was reversed; None if it was not."""
    return _last(REVERSED, step, occurrences) if step.state == StepStatus.COMPENSATED else None


def _last(kinds: tuple[EventKind, ...], step: CustomerStep, occurrences: Occurrences) -> datetime | None:
    times = [event.at for kind in kinds if (event := occurrences.get((kind, step.name)))]
    return max(times, default=None)
