"""What people see of an order that has moved to a later version of its workflow."""

from collections.abc import Iterator
from typing import Any

import pytest

from orders.services.audit import Actor
from orders.services.operators.moving import move_orders
from tests.commands.running import make_event, run
from tests.support.businesses import business
from tests.support.factories import ago
from tests.support.versions import HANDS, OLD, TASTED, IcedCake, an_old_order
from tests.web.conftest import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("T6", "O2")]
SENTENCE = "The order was moved from version 1 of its workflow to version 2: iced now"


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The release that has both versions, beside the shop."""
    with business(settings, kinds=[IcedCake], agents=HANDS):
        yield


def test_its_history_keeps_what_happened_on_the_old_version(desk: Desk) -> None:
    order = an_old_order(TASTED, started_at=ago(60))
    for kind, step in (
        *(("claimed", ""), ("step_started", "mix"), ("step_completed", "mix")),
        *(("awaiting", "taste"), ("step_completed", "taste"), ("waiting_for_agent", "candle")),
    ):
        make_event(order.pk, kind, step, 1 if step else 0)
    actor = Actor(name="olga")
    move_orders(name=OLD.name, from_version=1, to_version=2, actor=actor, reason="iced now")
    answer = desk("viewer").get(f"/console/orders/{order.pk}/")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert SENTENCE in page and "Step taste completed" in page
    assert "ice" in page and "approve" in page
    words = run("order", order.pk).words
    assert SENTENCE.partition(":")[0] in words and "Step taste completed" in words
    assert run("order", order.pk, "--json").code == 0
