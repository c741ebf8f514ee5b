"""Replaying submissions that were set aside (S3, O2)."""

import pytest

from orders.models import Alert, Event, OrderProcess, SetAside, SubmissionMessage
from orders.services.act_results import ResultStatus
from orders.services.order_changes import replay_submission
from orders.shop.models import Product
from orders.shop.placing import place_order
from tests.services.placing_orders import an_order, take_in
from tests.support.roles import alerts_of, history

pytestmark = pytest.mark.django_db


@pytest.mark.pattern("S3", "O2")
def test_a_set_aside_submission_is_replayed_once_its_cause_is_fixed(product: None) -> None:
    placed = place_order(client="guest", order=an_order())
    Product.objects.update(currency="HUF")
    assert take_in()["rejected"] == 1
    Product.objects.update(currency="EUR")
    set_aside = SetAside.objects.get()
    result = replay_submission(set_aside_id=set_aside.pk, by="operator:ada")
    assert (result.status, result.message) == (
        ResultStatus.DONE,
        f"Order {placed.order_id} is back on the submission queue.",
    )
    alert = Alert.objects.get()
    assert (alert.kind, alert.closed_by, alert.resolution) == ("set_aside", "operator:ada", "replayed")
    assert SetAside.objects.get().replayed_at is not None
    again = replay_submission(set_aside_id=set_aside.pk, by="operator:ada")
    assert (again.status, SubmissionMessage.objects.count()) == (ResultStatus.ALREADY, 1)
    assert take_in()["accepted"] == 1
    assert OrderProcess.objects.get().order_id == placed.order_id
    assert history(placed.order_id) == [("set_aside", ""), ("replayed", ""), ("received", "")]


@pytest.mark.pattern("S3")
def test_a_replayed_submission_that_is_still_bad_is_set_aside_again_with_a_new_alert(product: None) -> None:
    placed = place_order(client="guest", order=an_order())
    Product.objects.update(currency="HUF")
    take_in()
    replay_submission(set_aside_id=SetAside.objects.get().pk, by="ada")
    assert take_in()["rejected"] == 1
    assert [set_aside.replayed_at is None for set_aside in SetAside.objects.order_by("pk")] == [False, True]
    assert len(alerts_of(placed.order_id)) == 2
    assert Alert.objects.filter(closed_at=None).count() == 1


def test_an_unknown_submission_cannot_be_replayed() -> None:
    assert replay_submission(set_aside_id=4711, by="ada").status is ResultStatus.ALREADY
    assert not Event.objects.exists()
