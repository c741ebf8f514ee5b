"""New orders for the state store, and one step as the store reads it."""

from datetime import UTC, datetime
from uuid import UUID

from uuid_utils.compat import uuid7

from orders.engine import state_store
from orders.engine.intakes import AcceptedOrder, Submission
from orders.engine.rows import StepRow
from orders.models import OrderProcess
from tests.support.workflows import CAKE


def read_step(order: OrderProcess | UUID, name: str = "mix") -> StepRow:
    order_id = order.order_id if isinstance(order, OrderProcess) else order
    (row,) = [row for row in state_store.steps_of([order_id])[order_id] if row.name == name]
    return row


def accepted(priority: int = 5, reply_to: str = "", portions: int = 1) -> AcceptedOrder:
    submission = Submission(
        order_id=uuid7(), client="guest", body={}, posted_at=datetime(2030, 1, 1, tzinfo=UTC)
    )
    return AcceptedOrder(
        submission=submission,
        workflow=CAKE,
        priority=priority,
        reply_to=reply_to,
        description={"portions": portions},
    )
