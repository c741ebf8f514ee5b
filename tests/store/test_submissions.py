"""The submission queue: one message per idempotency key, shared out without waiting, set aside and replayed (S1–S3)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from uuid_utils.compat import uuid7

from orders.engine.channels import submissions
from orders.engine.channels.submission_records import IdempotencyRecord, find_record
from orders.engine.intakes import RejectedSubmission, Submission
from orders.engine.runtime.sql import fetch
from orders.models import ArchivedOrder, OrderProcess, SetAside, SubmissionKey, SubmissionMessage
from orders.retention import moving
from tests.support.factories import make_order
from tests.support.two_sessions import PATIENCE, Session, all_at_once, switch_off

NewSession = Callable[[], Session]
BODY = {"lines": [{"sku": "há", "quantity": 2}], "note": None, "deep": {"a": [1, 2.5, True]}}

HASH = "h"
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
ARCHIVED: Any = {
    **{"state": "processed", "last_event": 0, "document": {}},
    **{"placed_at": MOMENT, "finished_at": MOMENT},
}


def post_once(
    order_id: UUID, *, client: str = "app", key: str = "k", body_hash: str = HASH
) -> IdempotencyRecord:
    with transaction.atomic():
        return submissions.post_once(
            order_id=order_id, client=client, body=BODY, key=key, body_hash=body_hash
        )


def rejected(order_id: UUID | None = None, reason: str = "no such product") -> RejectedSubmission:
    posted_at = datetime(2030, 1, 1, tzinfo=UTC)
    submission = Submission(order_id=order_id or uuid7(), client="app", body=BODY, posted_at=posted_at)
    return RejectedSubmission(submission=submission, reason=reason)


def take(limit: int = 100) -> list[UUID]:
    return [submission.order_id for _, submission in submissions.take(limit)]


# --- posting


@pytest.mark.django_db
@pytest.mark.pattern("S1")
def test_messages_are_taken_oldest_first_as_they_were_sent() -> None:
    orders = [uuid7() for _ in range(3)]
    for order_id in reversed(orders):
        submissions.post(order_id=order_id, client=f"client of {order_id}", body=BODY)
    taken = submissions.take(2)
    assert [submission.order_id for _, submission in taken] == [orders[2], orders[1]]
    (first_id, first), _ = taken
    stored = SubmissionMessage.objects.get(pk=first_id)
    assert (first.client, first.body, first.posted_at) == (f"client of {orders[2]}", BODY, stored.posted_at)
    submissions.delete([first_id])
    assert take() == [orders[1], orders[0]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("S3")
def test_exactly_one_of_twenty_posts_with_one_key_is_new() -> None:
    """F3."""
    orders = [uuid7() for _ in range(20)]
    answers = all_at_once(20, lambda n: post_once(orders[n]))
    (new,) = [answer for answer in answers if answer.posted_at]
    assert orders[answers.index(new)] == new.order_id
    assert {answer.order_id for answer in answers} == {new.order_id}
    assert {answer.body_hash for answer in answers} == {new.body_hash}
    assert list(SubmissionMessage.objects.values_list("order_id", "body")) == [(new.order_id, BODY)]
    assert SubmissionKey.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.pattern("S3")
def test_a_used_key_with_another_body_is_detected_and_posts_nothing() -> None:
    """F4."""
    first, second = uuid7(), uuid7()
    new = post_once(first)
    assert (new.order_id, new.body_hash) == (first, HASH)
    assert post_once(second) == IdempotencyRecord(order_id=first, body_hash=HASH)
    assert post_once(second, body_hash="other") == IdempotencyRecord(order_id=first, body_hash=HASH)
    assert take() == [first]


@pytest.mark.django_db
@pytest.mark.pattern("S3")
def test_an_order_that_is_anywhere_is_not_posted_again_although_its_key_is_lost() -> None:
    order_id = uuid7()

    def post_again() -> bool:
        SubmissionKey.objects.all().delete()
        record = post_once(order_id)
        assert post_once(order_id) == IdempotencyRecord(order_id=order_id, body_hash=HASH)
        return record.posted_at is not None

    first = post_once(order_id)
    assert first.posted_at == SubmissionMessage.objects.get().posted_at
    assert not post_again()
    SubmissionMessage.objects.all().delete()
    submissions.set_aside([rejected(order_id)])
    assert not post_again()
    SetAside.objects.update(replayed_at=datetime(2030, 1, 1, tzinfo=UTC))
    make_order({"mix": "completed"}, order_id=order_id)
    assert not post_again()
    OrderProcess.objects.all().delete()
    ArchivedOrder.objects.create(order_id=order_id, **ARCHIVED)
    assert not post_again()
    ArchivedOrder.objects.all().delete()
    assert post_again()


@pytest.mark.pattern("S3")
def test_a_key_that_retention_is_just_deleting_with_its_order_places_a_new_order(
    new_session: NewSession,
) -> None:
    order_id = uuid7()
    ArchivedOrder.objects.create(order_id=order_id, **ARCHIVED)
    SubmissionKey.objects.create(client="app", key="k", body_hash=HASH, order_id=order_id)
    retention, client = new_session(), new_session()
    retention.begin()
    retention.do(lambda: moving.delete_archived(before=datetime(2100, 1, 1, tzinfo=UTC)))
    posting = client.start(lambda: post_once(order_id))
    client.await_wait()
    retention.commit()
    assert posting.result(timeout=PATIENCE).posted_at == SubmissionMessage.objects.get().posted_at
    assert SubmissionKey.objects.get().order_id == order_id


@pytest.mark.django_db
@pytest.mark.pattern("S3")
def test_a_key_belongs_to_its_client() -> None:
    first, second, third = uuid7(), uuid7(), uuid7()
    assert post_once(first).posted_at
    assert post_once(second, client="another").posted_at
    assert post_once(third, key="another").posted_at
    assert take() == [first, second, third]


@pytest.mark.django_db
@pytest.mark.pattern("S3")
def test_a_post_can_be_looked_up_by_its_key() -> None:
    first = uuid7()
    assert find_record(client="app", key="k") is None
    post_once(first)
    assert find_record(client="app", key="k") == IdempotencyRecord(order_id=first, body_hash=HASH)
    assert find_record(client="another", key="k") is None


@pytest.mark.pattern("S3")
def test_a_key_whose_post_was_rolled_back_is_free_again(new_session: NewSession) -> None:
    """F1: nothing was acknowledged, so the answer to the second post must not name an order that does not exist."""
    first, second = uuid7(), uuid7()
    session, other = new_session(), new_session()
    session.begin()
    assert session.do(lambda: post_once(first)).posted_at
    waiting = other.start(lambda: post_once(second))
    other.await_wait()
    session.rollback()
    record = waiting.result(timeout=PATIENCE)
    assert record.order_id == second
    assert record.posted_at
    assert list(SubmissionMessage.objects.values_list("order_id", flat=True)) == [second]


# --- taking


def test_messages_that_another_session_holds_are_passed_over_without_waiting(new_session: NewSession) -> None:
    orders = [uuid7() for _ in range(4)]
    for order_id in orders:
        submissions.post(order_id=order_id, client="app", body={})
    session, other = new_session(), new_session()
    session.begin()
    other.begin()
    assert session.do(lambda: take(2)) == orders[:2]
    assert other.do(take) == orders[2:]
    session.rollback()
    assert other.do(take) == orders


@pytest.mark.django_db
def test_no_plan_makes_take_exceed_its_limit(switched_off: tuple[str, ...]) -> None:
    orders = [uuid7() for _ in range(50)]
    for order_id in orders:
        submissions.post(order_id=order_id, client="app", body={})
    switch_off(switched_off)
    assert take(7) == orders[:7]


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("S2", "T6")
def test_eight_takers_take_every_message_exactly_once() -> None:
    orders = {uuid7() for _ in range(200)}
    for order_id in orders:
        submissions.post(order_id=order_id, client="app", body={})

    def take_until_none_is_left(_: int) -> list[UUID]:
        taken: list[UUID] = []
        while True:
            with transaction.atomic():
                messages = submissions.take(7)
                submissions.delete([message_id for message_id, _ in messages])
            taken += [submission.order_id for _, submission in messages]
            if not messages:
                return taken

    by_taker = all_at_once(8, take_until_none_is_left)
    assert sum(map(len, by_taker)) == 200
    assert set().union(*by_taker) == orders


# --- setting aside


@pytest.mark.django_db
@pytest.mark.pattern("S3")
def test_a_message_is_set_aside_once_and_kept_completely_with_its_reason() -> None:
    rejection, other = rejected(), rejected(reason="no address")
    submissions.set_aside([rejection, other])
    submissions.set_aside([RejectedSubmission(submission=rejection.submission, reason="a better reason")])
    assert list(
        SetAside.objects.order_by("id").values_list("order_id", "client", "body", "reason", "posted_at")
    ) == [
        (rejection.submission.order_id, "app", BODY, "a better reason", rejection.submission.posted_at),
        (other.submission.order_id, "app", BODY, "no address", other.submission.posted_at),
    ]
    assert fetch(
        "SELECT bool_and(set_aside_at IS NOT NULL AND replayed_at IS NULL) FROM orders_setaside"
    ) == [(True,)]


@pytest.mark.django_db
@pytest.mark.pattern("S3")
def test_a_replay_puts_it_back_on_the_queue_once() -> None:
    rejection = rejected()
    submissions.set_aside([rejection, rejected()])
    aside = SetAside.objects.get(order_id=rejection.submission.order_id)
    assert submissions.replay(aside.pk) == rejection.submission.order_id
    ((_, again),) = submissions.take(10)
    assert (again.order_id, again.client, again.body) == (rejection.submission.order_id, "app", BODY)
    aside.refresh_from_db()
    assert aside.replayed_at is not None
    assert submissions.replay(aside.pk) is None
    assert submissions.replay(0) is None
    assert len(take()) == 1
    submissions.set_aside([rejection])
    assert SetAside.objects.filter(order_id=rejection.submission.order_id).count() == 2


def test_two_operators_replay_a_submission_once(new_session: NewSession) -> None:
    """F33."""
    submissions.set_aside([rejected()])
    aside = SetAside.objects.get()
    session, other = new_session(), new_session()
    session.begin()
    assert session.do(lambda: submissions.replay(aside.pk)) == aside.order_id
    second = other.start(lambda: submissions.replay(aside.pk))
    other.await_wait()
    session.commit()
    assert second.result(timeout=PATIENCE) is None
    assert SubmissionMessage.objects.count() == 1
