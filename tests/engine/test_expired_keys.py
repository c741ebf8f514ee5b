"""Keys that the remote service may have forgotten are not sent again (F14)."""

import pytest

from orders.models import (
    Alert,
)
from orders.services.order_changes import compensate_order, resubmit_order
from tests.support.factories import ago, make_order, step_of
from tests.support.roles import (
    a_scheduler,
    alerts_of,
    requested_steps,
    stored,
)
from tests.support.workflows import BAKED, CAKE, PACKED

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A8")]


@pytest.mark.pattern("F14", "A3")
def test_a_step_with_an_expired_key_is_not_sent_again_even_by_a_resubmission() -> None:
    week = CAKE.by_name["decorate"].key_retention
    lost = {"attempt": 1, "outcome": "unknown", "sent_at": ago(week + 1)}
    order = make_order(PACKED | {"decorate": lost})
    scheduler = a_scheduler()
    for _ in range(2):
        scheduler.run_once()
        decorate = step_of(order, "decorate")
        assert (decorate.state, decorate.outcome, decorate.attempt) == ("failed", "unknown", 1)
        assert (stored(order).process_state, requested_steps()) == ("error", set())
        assert Alert.objects.get(closed_at=None).code == "key_expired"
        resubmit_order(order_id=order.pk, by="ada")


@pytest.mark.pattern("F14")
def test_a_step_with_an_expired_key_is_compensated_only_by_an_operator() -> None:
    week = CAKE.by_name["box"].key_retention
    lost = {"attempt": 1, "outcome": "unknown", "sent_at": ago(week + 1)}
    order = make_order(
        BAKED | {"decorate": "completed", "box": lost}
    )  # its remedy is to compensate the order
    scheduler = a_scheduler()
    scheduler.run_once()
    assert alerts_of(order) == [("step_failed", "box", "key_expired")]
    compensate_order(order_id=order.pk, by="ada")
    scheduler.run_once()
    assert requested_steps() == {"decorate", "box"}


@pytest.mark.pattern("F14", "O2")
def test_a_new_generation_has_a_new_key_whose_time_begins_when_it_is_sent() -> None:
    week = CAKE.by_name["decorate"].key_retention
    order = make_order(
        PACKED | {"decorate": {"state": "failed", "sent_at": ago(week + 1)}}, process_state="error"
    )
    resubmit_order(order_id=order.pk, by="ada")
    a_scheduler().run_once()
    sent = step_of(order, "decorate").sent_at
    assert sent is not None and sent > ago(600)
