"""When an order should arrive, for as long as that is true."""

from orders.business import Situation
from orders.selectors.tracked_orders import TrackedOrder
from orders.shop.delivery import Arrival, expected_arrival
from orders.shop.fulfilment import SHIPMENT
from orders.vocabulary import StepStatus
from orders.wording.customers.progress import Progress

ON_ITS_WAY = (Situation.RECEIVED, Situation.WORKING, Situation.FULFILLED, Situation.COMPLETE)


def estimate(tracked: TrackedOrder, progress: Progress) -> Arrival | None:
    """When an order should arrive. None where nothing is known of it: the order is held up, declined, late or
    cancelled, nothing is sent, or the last day has passed."""
    return None if progress.is_late or progress.situation not in ON_ITS_WAY else expected(tracked)


def expected(tracked: TrackedOrder) -> Arrival | None:
    """When an order should arrive that goes on: from when it was placed and, once it is sent, from then."""
    shipment = next((step for step in tracked.order.steps if step.name == SHIPMENT), None)
    if shipment and shipment.state == StepStatus.SKIPPED:
        return None
    since = shipment.completed_at if shipment else None
    return expected_arrival(tracked.data, since or tracked.order.placed_at, now=tracked.seen_at)
