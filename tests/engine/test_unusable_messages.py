"""A message that the submission role cannot use is set aside and holds up no other (S3)."""

from collections.abc import Sequence

import pytest
from django.db import OperationalError

from orders.business.intake import OrderIntake
from orders.engine.intakes import IntakeAnswer, Submission
from orders.models import (
    Alert,
    Order,
    OrderProcess,
    SetAside,
    SubmissionMessage,
)
from orders.shop.models import Product
from tests.support.roles import alerts_of, drain, event_of, history, status_kinds
from tests.support.submissions import Brittle, a_role, nothing_was_inserted, post
from tests.support.workflows import CAKE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def product(db: None) -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)


@pytest.mark.pattern("S3")
def test_an_unusable_message_is_set_aside_with_its_reason_and_those_behind_it_go_in() -> None:
    bad = post(total=1, reply_to="app-1")
    good = [post(), post()]
    assert a_role().run_once().done == {"accepted": 2, "rejected": 1, "duplicates": 0}
    assert set(OrderProcess.objects.values_list("pk", flat=True)) == set(good)
    aside = SetAside.objects.get()
    assert (aside.order_id, aside.client, aside.body["total"], aside.replayed_at) == (bad, "guest", 1, None)
    assert aside.reason.startswith("total ")
    alert = Alert.objects.get()
    assert (alert.order_id, alert.kind, alert.code) == (bad, "set_aside", "cannot_be_inserted")
    assert (alert.message, alert.closed_at) == (aside.reason, None)
    assert event_of(bad, "set_aside").detail == {"reason": aside.reason}
    assert history(bad) == [("set_aside", "")]
    assert status_kinds(bad) == ["failed"]
    assert not SubmissionMessage.objects.exists()


@pytest.mark.pattern("S3")
def test_an_unusable_message_that_comes_again_has_one_record_and_one_alert() -> None:
    bad = post(total=1)
    role = a_role()
    role.run_once()
    post(bad, total=2)
    assert role.run_once().done == {"accepted": 0, "rejected": 1, "duplicates": 0}
    assert SetAside.objects.get().order_id == bad
    assert alerts_of(bad) == [("set_aside", "", "cannot_be_inserted")]


@pytest.mark.pattern("S3")
@pytest.mark.parametrize("place", [0, 6, 12])
def test_a_message_that_breaks_the_intake_is_found_and_set_aside_alone(place: int) -> None:
    ids = [post(payment_method="boom" if n == place else "card_ok") for n in range(13)]
    total = drain(a_role(batch=8, intake=Brittle()))
    assert (total["accepted"], total["rejected"]) == (12, 0)
    assert set(OrderProcess.objects.values_list("pk", flat=True)) == set(ids) - {ids[place]}
    aside = SetAside.objects.get()
    assert (aside.order_id, aside.reason) == (ids[place], "inserting it failed: ValueError: boom")
    assert alerts_of(ids[place]) == [("set_aside", "", "cannot_be_inserted")]
    assert history(ids[place]) == [("set_aside", "")]
    assert not Order.objects.filter(pk=ids[place]).exists()
    assert not SubmissionMessage.objects.exists()
    assert total["failed_passes"] <= 10


@pytest.mark.pattern("S3")
def test_messages_that_break_the_intake_with_the_same_error_wait_and_the_others_go_in() -> None:
    ids = [post(payment_method="boom" if n in (2, 3, 9) else "card_ok") for n in range(12)]
    role = a_role(batch=4, intake=Brittle())
    assert drain(role)["accepted"] == 9
    waiting = SubmissionMessage.objects.order_by("id").values_list("order_id", flat=True)
    assert list(waiting) == [ids[2], ids[3], ids[9]]
    assert not SetAside.objects.exists()
    (trouble,) = role.troubles()
    assert (trouble.kind, trouble.subject, trouble.code) == ("release", "submission", "ValueError")
    assert "ValueError: boom" in trouble.message


@pytest.mark.pattern("S3")
def test_a_message_is_set_aside_even_if_its_error_cannot_be_stored_as_it_is() -> None:
    bad, good = post(payment_method="boom"), post()
    drain(a_role(batch=2, intake=Brittle("a \x00 in the text")))
    assert SetAside.objects.get().order_id == bad
    assert OrderProcess.objects.get().order_id == good


@pytest.mark.pattern("S3")
def test_a_message_that_breaks_a_pass_only_once_is_not_set_aside() -> None:
    broken = iter([True])

    class BrokenAtFirst(OrderIntake):
        def __call__(self, submissions: Sequence[Submission]) -> Sequence[IntakeAnswer]:
            if next(broken, False):
                raise ValueError("it collided with another instance")
            return super().__call__(submissions)

    order_id = post()
    total = drain(a_role(batch=1, intake=BrokenAtFirst(newest={"fulfil-order": CAKE})))
    assert (total["failed_passes"], total["accepted"], total["rejected"]) == (1, 1, 0)
    assert OrderProcess.objects.get().order_id == order_id
    assert not SetAside.objects.exists()


def test_a_database_in_trouble_is_no_reason_to_set_a_message_aside() -> None:
    class Broken(OrderIntake):
        def __call__(self, submissions: Sequence[Submission]) -> Sequence[IntakeAnswer]:
            raise OperationalError("the connection is lost")

    order_id = post()
    role = a_role(batch=1, intake=Broken(newest={"fulfil-order": CAKE}))
    for _ in range(4):
        with pytest.raises(OperationalError):
            role.run_once()
    assert SubmissionMessage.objects.get().order_id == order_id
    assert nothing_was_inserted()
