"""What tests of placing orders share: an order of one print, and a pass of the submission process."""

from orders.business.intake import OrderIntake
from orders.engine.submission import Submitter, SubmitterConfig
from orders.shop.placing import NewOrder
from tests.support.factories import new_order
from tests.support.workflows import CAKE, CAKES


def an_order(quantity: int = 1, sku: str = "nap", reply_to: str = "app-1") -> NewOrder:
    return new_order(sku, quantity=quantity, priority=7, reply_to=reply_to)


def take_in() -> dict[str, int]:
    role = Submitter(
        config=SubmitterConfig(instance="submission:a"),
        intake=OrderIntake(newest={"fulfil-order": CAKE}),
        workflows=CAKES,
    )
    return role.run_once().done
