"""Orders of the bakery, a second business beside the shop, and the submission role that inserts them."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from orders.api import document, requests
from orders.business import registry
from orders.business.intake import OrderIntake
from orders.engine.submission import Submitter, SubmitterConfig
from orders.models import (
    OrderProcess,
    StepState,
)
from tests.support.businesses import Bakery, Oven, business
from tests.support.factories import make_alert

Desk = Callable[[str], Client]
ORDERS = "/api/v1/orders"


def forget_document() -> None:
    """A process works the API's document out once."""
    requests.ORDER_SCHEMA._serializers = requests.order_bodies
    document.render.cache_clear()


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The bakery, beside the shop."""
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        yield
    forget_document()


def the_role() -> Submitter:
    """The submission role, as it is wired."""
    newest = registry.newest_workflows()
    workflows = {(workflow.name, workflow.version): workflow for workflow in newest.values()}
    config = SubmitterConfig(instance="submission:a")
    return Submitter(config=config, intake=OrderIntake(), workflows=workflows)


def take_in() -> None:
    """Inserts what is in the queue."""
    the_role().run_once()


def a_cake(**values: Any) -> UUID:
    """An order of the bakery, inserted."""
    data = {"cake": "walnut", "icing": "lemon", "for": "Grace Hopper", **values.pop("data", {})}
    order_id = Bakery.start(values.pop("subject", "table 7"), data, **values)
    take_in()
    return order_id


def a_burnt_cake() -> UUID:
    """An order of the bakery in Error, with its alert."""
    order_id = a_cake()
    StepState.objects.filter(process_id=order_id).update(
        state="failed",
        attempt=1,
        answered=1,
        outcome="refused",
        error={"code": "burnt", "message": "too hot"},
    )
    OrderProcess.objects.filter(pk=order_id).update(process_state="error", failure_count=1)
    make_alert(order_id, code="burnt", agent="oven", step="mix")
    return order_id
