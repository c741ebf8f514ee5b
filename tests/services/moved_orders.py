"""What the tests of moving orders share: the release with both versions, the act, and what became of the orders."""

from collections.abc import Iterator
from typing import Any

import pytest

from orders.models import AgentReply, OrderProcess, StepState
from orders.services.audit import Actor
from orders.services.operators.moving import Report, move_orders
from tests.support.businesses import business
from tests.support.factories import make_reply
from tests.support.roles import a_scheduler, answer, drain, states, stored
from tests.support.versions import HANDS, OLD, VERSIONS, IcedCake

OLGA = Actor(name="olga", ip_address="10.0.0.7")
JOURNEY: dict[str, Any] = {"name": OLD.name, "from_version": 1, "to_version": 2}


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The release that has both versions."""
    with business(settings, kinds=[IcedCake], agents=HANDS):
        yield


def move(reason: str = "") -> Report:
    """Moves what can be moved from version 1 to version 2, in Olga's name."""
    return move_orders(**JOURNEY, actor=OLGA, reason=reason)


def versions_of(*orders: OrderProcess) -> list[int]:
    return [stored(order).version for order in orders]


def reasons(report: Report) -> list[tuple[str, bool, int]]:
    return [(item.reason, item.passes, item.number) for item in report.hindrances]


def let_it_end(order: OrderProcess) -> str:
    """Schedulers of this release and all agents do what they can. Returns the state of the order."""
    for _ in range(20):
        drain(a_scheduler(workflows=VERSIONS))
        StepState.objects.filter(process_id=order.pk, state="awaiting").update(complete_by=None)
        for step in StepState.objects.filter(process_id=order.pk, state="awaiting"):
            if not AgentReply.objects.filter(step_id=step.pk).exists():
                make_reply(step, body={"choice": "accept", "by": "olga", "note": ""})
        if not answer(order=order) and not AgentReply.objects.exists():
            return stored(order).process_state
    raise AssertionError(f"no end: {states(order)}")
