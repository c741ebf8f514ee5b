"""The workflows of this release, in every version that orders may still be on."""

from typing import Protocol

from orders.engine.contracts import Workflow
from orders.workflow.fulfilment import fulfil_order


class Limits(Protocol):
    """An installation's time limits, in seconds."""

    @property
    def order_complete_by(self) -> float:
        """How long a whole order may take."""

    @property
    def step_complete_by(self) -> float:
        """How long one attempt at a step may take."""

    @property
    def customer_wait(self) -> float:
        """How long a declined step waits for its customer."""

    @property
    def patience(self) -> float:
        """How long a step waits for an agent that cannot take it."""

    @property
    def key_retention(self) -> float:
        """How long the warehouse, the payment gateway and the carrier recognise idempotency keys."""


def declared(limits: Limits) -> list[Workflow]:
    """Returns the workflows. New orders take the last one."""
    return [
        fulfil_order(
            order_complete_by=limits.order_complete_by,
            step_complete_by=limits.step_complete_by,
            customer_wait=limits.customer_wait,
            patience=limits.patience,
            key_retention=limits.key_retention,
        )
    ]
