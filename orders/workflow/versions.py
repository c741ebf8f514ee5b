"""Every workflow of this release, in every version that orders may still be on."""

from typing import Protocol

from orders.engine.contracts import Workflow
from orders.workflow.fulfilment import fulfil_order


class Limits(Protocol):
    """An installation's time limits, in seconds."""

    @property
    def order_complete_by(self) -> float:
        """For a whole order."""

    @property
    def step_complete_by(self) -> float:
        """For one step."""

    @property
    def customer_wait(self) -> float:
        """For a customer to fix what was declined."""

    @property
    def patience(self) -> float:
        """For an agent that can take nothing."""


def declared(limits: Limits) -> list[Workflow]:
    """The workflows; new orders take the last one."""
    return [
        fulfil_order(
            order_complete_by=limits.order_complete_by,
            step_complete_by=limits.step_complete_by,
            customer_wait=limits.customer_wait,
            patience=limits.patience,
        )
    ]
