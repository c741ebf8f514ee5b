"""Places orders of any kind for their clients (S1)."""

from dataclasses import dataclass, field
from uuid import UUID

from orders.business.placing import NewOrder, PostedOrder, post_order
from orders.models import SubmissionMessage
from orders.selectors.customer_order import CustomerOrder, queued_order


@dataclass(frozen=True, kw_only=True)
class PlacedOrder:
    """A placed order. `replayed` is true if an earlier call with the same key had already placed it.

    `view` is how its customer sees it, if it is known without looking: it is on the submission queue and nowhere else.
    """

    order_id: UUID
    replayed: bool
    view: CustomerOrder | None = field(default=None, compare=False)


def place_order(*, client: str, order: NewOrder, idempotency_key: str | None = None) -> PlacedOrder:
    """Posts an order to the submission queue: see `post_order`, which says what is raised."""
    posted = post_order(client=client, order=order, key=idempotency_key)
    return PlacedOrder(order_id=posted.order_id, replayed=posted.replayed, view=_view(posted))


def _view(posted: PostedOrder) -> CustomerOrder | None:
    if posted.body is None or posted.posted_at is None:
        return None
    message = SubmissionMessage(order_id=posted.order_id, body=posted.body, posted_at=posted.posted_at)
    return queued_order(message, {})
