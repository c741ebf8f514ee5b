"""Messages for the submission role."""

import copy
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from orders.business.intake import OrderIntake
from orders.engine.channels import submissions
from orders.engine.contracts import Workflows
from orders.engine.intakes import ClosedOrder, Intake, IntakeAnswer, Submission
from orders.engine.submission import Submitter, SubmitterConfig
from orders.models import (
    Alert,
    Event,
    Order,
    OrderLine,
    OrderProcess,
    SetAside,
    StatusMessage,
    StepState,
)
from tests.support.order_bodies import SUBMITTED, submitted_body
from tests.support.workflows import CAKE, CAKES

BODY = submitted_body(lines=SUBMITTED["lines"][:1], total=7800)


def post(order_id: UUID | None = None, **changes: Any) -> UUID:
    """Puts an order on the submission queue, as the application would."""
    order_id = order_id or uuid7()
    submissions.post(order_id=order_id, client="guest", body={**copy.deepcopy(BODY), **changes})
    return order_id


def a_role(
    *,
    instance: str = "submission:a",
    batch: int = 200,
    intake: Intake | None = None,
    workflows: Workflows = CAKES,
) -> Submitter:
    config = SubmitterConfig(instance=instance, batch=batch)
    return Submitter(
        config=config, intake=intake or OrderIntake(newest={"fulfil-order": CAKE}), workflows=workflows
    )


class Brittle:
    """An intake that breaks on an order with the payment method `boom`, with this error message."""

    def __init__(self, message: str = "boom") -> None:
        self._message = message
        self._inner = OrderIntake(newest={"fulfil-order": CAKE})
        self.newest, self.unnamed = self._inner.newest, self._inner.unnamed

    def __call__(self, batch: Sequence[Submission]) -> Sequence[IntakeAnswer]:
        answers = self._inner(batch)
        if any(submission.body["payment_method"] == "boom" for submission in batch):
            raise ValueError(self._message)
        return answers

    def close(self, batch: Sequence[Submission]) -> Sequence[ClosedOrder]:
        return self._inner.close(batch)


def nothing_was_inserted() -> bool:
    tables = (Order, OrderLine, OrderProcess, StepState, Event, StatusMessage, Alert, SetAside)
    return not any(table.objects.exists() for table in tables)
