"""An order is cancelled wherever it is: on the submission queue, set aside, or just being inserted (S2, S3, C10)."""

from functools import partial
from typing import Any
from uuid import UUID

import pytest

from orders.models import (
    Alert,
    AuditEntry,
    OrderProcess,
    SetAside,
    StepState,
    SubmissionMessage,
)
from orders.services.act_results import ResultStatus
from orders.services.operators import order_acts
from orders.services.order_changes import compensate_order, replay_submission
from orders.services.order_lock import NoSuchOrderError
from orders.shop.models import Product
from tests.services.cancelled_orders import ALREADY, DONE, cancelled, status_bodies, to_its_end, was_closed
from tests.services.operated_orders import OLGA
from tests.support.finished_orders import archive
from tests.support.roles import (
    alerts_of,
    drain,
    event_of,
    history,
    status_kinds,
    stored,
)
from tests.support.submissions import Brittle, a_role, post
from tests.support.two_sessions import PATIENCE, NewSession, held

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C10")]


@pytest.fixture(autouse=True)
def product(db: None) -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)


# On the queue.


@pytest.mark.pattern("S2")
def test_an_order_on_the_queue_is_cancelled_at_once_and_inserted_to_be_compensated() -> None:
    order_id = post(reply_to="app-1")
    assert cancelled(order_id) is DONE
    request = event_of(order_id, "compensation_requested")
    assert (request.actor_kind, request.actor_name, request.detail) == (
        "customer",
        "guest",
        {"why": "customer_cancelled"},
    )
    assert a_role().run_once().done == {"accepted": 1, "rejected": 0, "duplicates": 0}
    assert (stored(order_id).process_state, stored(order_id).goal) == ("pending", "compensate")
    assert StepState.objects.filter(process_id=order_id).count() == 7
    to_its_end(order_id)
    assert history(order_id)[:2] == [("compensation_requested", ""), ("received", "")]
    assert history(order_id)[-1] == ("compensated", "")
    assert status_kinds(order_id) == ["received", "started", "compensated"]  # its notice was started


def test_cancelling_twice_before_the_order_is_inserted_cancels_once() -> None:
    order_id = post()
    assert [cancelled(order_id), cancelled(order_id)] == [DONE, ALREADY]
    a_role().run_once()
    assert cancelled(order_id) is ALREADY
    to_its_end(order_id)
    assert cancelled(order_id) is ALREADY
    assert len(history(order_id, "compensation_requested")) == 1


def test_a_message_that_is_there_twice_is_cancelled_whole() -> None:
    order_id = post(post())
    assert cancelled(order_id) is DONE
    assert a_role().run_once().done == {"accepted": 1, "rejected": 0, "duplicates": 1}
    to_its_end(order_id)


def test_an_order_that_is_nowhere_or_archived_is_not_cancelled() -> None:
    order_id = post()
    cancelled(order_id)
    a_role().run_once()
    to_its_end(order_id)
    archive(order_id)
    for unknown in (order_id, UUID(int=7)):
        with pytest.raises(NoSuchOrderError):
            cancelled(unknown)


def test_a_cancelled_order_of_a_batch_that_is_rolled_back_is_inserted_to_be_compensated() -> None:
    order_id, boom, live = post(), post(payment_method="boom"), post()
    assert cancelled(order_id) is DONE
    drain(a_role(intake=Brittle()))
    assert list(SetAside.objects.values_list("order_id", flat=True)) == [boom]
    assert (stored(order_id).goal, stored(live).goal) == ("compensate", "complete")
    to_its_end(order_id)


# Races.


def cancelled_during_a_pass(order_id: UUID, new_session: NewSession, *, commits: bool = True) -> ResultStatus:
    """Cancels an order while the submission role has its message in a transaction, and has that end."""
    submission, customer = new_session(), new_session()
    submission.begin()
    submission.do(a_role().run_once)
    cancelling = customer.start(lambda: cancelled(order_id))
    customer.await_wait()
    if commits:
        submission.commit()
    else:
        submission.rollback()
    return cancelling.result(timeout=PATIENCE)


def test_a_cancellation_waits_for_the_role_that_is_inserting_the_order(new_session: NewSession) -> None:
    order_id = post()
    assert cancelled_during_a_pass(order_id, new_session) is DONE
    assert history(order_id) == [("received", ""), ("compensation_requested", "")]
    to_its_end(order_id)


def test_a_cancellation_waits_for_the_role_that_sets_the_order_aside(new_session: NewSession) -> None:
    order_id = post(total=1)
    assert cancelled_during_a_pass(order_id, new_session) is DONE
    assert Alert.objects.get().resolution == "cancelled"
    a_role().run_once()
    was_closed(order_id)


def test_an_order_whose_insertion_is_rolled_back_is_cancelled_on_the_queue(new_session: NewSession) -> None:
    order_id = post()
    assert cancelled_during_a_pass(order_id, new_session, commits=False) is DONE
    a_role().run_once()
    to_its_end(order_id)


def test_a_cancellation_that_commits_after_the_role_has_looked_and_before_it_locks_counts(
    new_session: NewSession,
) -> None:
    order_id = post()
    with held(new_session(), a_role().run_once, at="FOR UPDATE SKIP LOCKED") as inserting:
        assert cancelled(order_id) is DONE
    assert inserting.result(timeout=PATIENCE).done["accepted"] == 1
    assert stored(order_id).goal == "compensate"
    to_its_end(order_id)


def test_a_role_passes_over_an_order_that_is_just_being_cancelled(new_session: NewSession) -> None:
    order_id, other = post(), post()
    customer = new_session()
    customer.begin()
    assert customer.do(lambda: cancelled(order_id)) is DONE
    role = a_role()
    assert role.run_once().done["accepted"] == 1
    assert OrderProcess.objects.get().pk == other
    customer.commit()
    assert role.run_once().done["accepted"] == 1
    to_its_end(order_id)


def test_of_two_cancellations_at_once_one_is_noted(new_session: NewSession) -> None:
    order_id = post()
    first, second = new_session(), new_session()
    first.begin()
    assert first.do(lambda: cancelled(order_id)) is DONE
    waiting = second.start(lambda: cancelled(order_id))
    second.await_wait()
    first.commit()
    assert waiting.result(timeout=PATIENCE) is ALREADY
    assert len(history(order_id, "compensation_requested")) == 1


def test_a_cancellation_finds_an_order_that_is_just_being_replayed(new_session: NewSession) -> None:
    order_id = post(total=1)
    a_role().run_once()
    number = SetAside.objects.get().pk
    operator, customer = new_session(), new_session()
    operator.begin()
    operator.do(lambda: replay_submission(set_aside_id=number, by="ada"))
    cancelling = customer.start(lambda: cancelled(order_id))
    customer.await_wait()
    operator.commit()
    assert cancelling.result(timeout=PATIENCE) is DONE
    assert SubmissionMessage.objects.get().goal == "compensate"


@pytest.mark.parametrize("body", [{}, {"total": 1}], ids=["inserted", "set aside"])
def test_an_operator_cancels_an_order_that_is_inserted_or_set_aside_while_she_looks_for_it(
    new_session: NewSession, body: dict[str, Any]
) -> None:
    order_id = post(**body)
    look = partial(order_acts.compensate, order_id=order_id, actor=OLGA, reason="by phone", typed="cancel")
    with held(new_session(), look, at='FROM "orders_orderprocess"') as cancelling:
        a_role().run_once()
    assert cancelling.result(timeout=PATIENCE).status is DONE
    assert AuditEntry.objects.get().act == "compensate"
    assert event_of(order_id, "compensation_requested").actor_name == "olga"
    a_role().run_once()
    to_its_end(order_id)


# Set aside.


@pytest.mark.pattern("S3")
def test_an_order_that_was_set_aside_is_cancelled_and_its_alert_closed() -> None:
    order_id = post(total=1, reply_to="app-1")
    a_role().run_once()
    number = SetAside.objects.get().pk
    assert cancelled(order_id) is DONE
    alert = Alert.objects.get()
    assert (alert.closed_by, alert.resolution) == ("guest", "cancelled")
    assert replay_submission(set_aside_id=number, by="ada").status is ALREADY
    assert a_role().run_once().done == {"accepted": 0, "rejected": 1, "duplicates": 0}
    was_closed(order_id)
    kinds = [kind for kind, _ in history(order_id)]
    assert kinds == ["set_aside", "compensation_requested", "compensated"]
    assert event_of(order_id, "compensated").detail["reason"].startswith("total ")
    assert status_kinds(order_id) == ["failed", "compensated"]
    assert status_bodies(order_id) == [{"reason": "customer_cancelled"}]
    post(order_id, total=1)
    assert a_role().run_once().done["duplicates"] == 1
    assert len(alerts_of(order_id)) == 1


def test_an_order_that_was_set_aside_is_compensated_as_any_once_its_cause_is_fixed() -> None:
    Product.objects.update(currency="HUF")
    order_id = post()
    a_role().run_once()
    assert SetAside.objects.exists()
    Product.objects.update(currency="EUR")
    assert cancelled(order_id) is DONE
    assert a_role().run_once().done["accepted"] == 1
    to_its_end(order_id)


# Operators.


@pytest.mark.pattern("O1")
@pytest.mark.parametrize("body", [{}, {"total": 1}], ids=["on the queue", "set aside"])
def test_an_operator_cancels_an_order_that_is_not_inserted(body: dict[str, Any]) -> None:
    order_id = post(reply_to="app-1", **body)
    if body:
        a_role().run_once()
    result = compensate_order(order_id=order_id, by="ada", reason="asked by phone")
    assert (result.status, result.message) == (DONE, "The order will be cancelled.")
    request = event_of(order_id, "compensation_requested")
    assert (request.actor_kind, request.actor_name) == ("operator", "ada")
    assert request.detail == {"why": "operator_requested", "reason": "asked by phone"}
    again = compensate_order(order_id=order_id, by="ada")
    assert (again.status, again.message) == (ALREADY, "The order is already being cancelled.")
    a_role().run_once()
    to_its_end(order_id)
    assert status_bodies(order_id) == [{"reason": "operator_requested"}]
