"""Many submissions in one statement: in their order, each once for its key, and with no circle of waits."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.business.order_ids import derived_order_id
from orders.engine.channels import submissions
from orders.engine.channels.many_submissions import KeyedSubmission, post_many
from orders.engine.channels.submission_records import IdempotencyRecord
from orders.models import ArchivedOrder, SubmissionKey, SubmissionMessage
from orders.retention import moving
from tests.support.two_sessions import PATIENCE, Session

NewSession = Callable[[], Session]
BODY = {"lines": [{"sku": "há", "quantity": 2}], "note": None, "deep": {"a": [1, 2.5, True, 10**20]}}
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)


def keyed(key: str, *, body_hash: str = "h", client: str = "user:1") -> KeyedSubmission:
    order_id = derived_order_id(client=client, key=key)
    return KeyedSubmission(order_id, client, {**BODY, "key": key}, key, body_hash)


def post(*keys: str) -> Sequence[IdempotencyRecord]:
    return post_many([keyed(key) for key in keys])


def queued() -> list[UUID]:
    return list(SubmissionMessage.objects.order_by("id").values_list("order_id", flat=True))


@pytest.mark.pattern("S1", "S3")
@pytest.mark.django_db
def test_they_are_on_the_queue_as_they_were_sent_and_in_the_order_given() -> None:
    many = [keyed(str(number)) for number in random.Random(1).sample(range(100), 100)]
    records = post_many(many)
    assert [record.order_id for record in records] == [row.order_id for row in many]
    stored = SubmissionMessage.objects.order_by("id")
    assert list(stored.values_list("order_id", "client", "body", "posted_at")) == [
        (row.order_id, row.client, row.body, record.posted_at)
        for row, record in zip(many, records, strict=True)
    ]
    assert {record.body_hash for record in records} == {"h"}


@pytest.mark.django_db
def test_a_hundred_take_one_statement_and_one_more_if_keys_have_been_used() -> None:
    with CaptureQueriesContext(connection) as new:
        post(*map(str, range(100)))
    with CaptureQueriesContext(connection) as half_known:
        post(*map(str, range(50, 150)))
    assert (len(new), len(half_known)) == (1, 2)
    with CaptureQueriesContext(connection) as none:
        assert post() == []
    assert len(none) == 0


@pytest.mark.pattern("S3", "F4")
@pytest.mark.django_db
def test_a_used_key_is_answered_with_its_record_and_posts_nothing() -> None:
    submissions.post_once(**keyed("b", body_hash="earlier")._asdict())
    first, second, third = post("a", "b", "c")
    assert second == IdempotencyRecord(keyed("b").order_id, "earlier")
    assert first.posted_at and third.posted_at
    assert queued() == [keyed(key).order_id for key in "bac"]


@pytest.mark.django_db
def test_a_key_belongs_to_its_client() -> None:
    first, second = post_many([keyed("a"), keyed("a", client="user:2")])
    assert first.posted_at and second.posted_at and first.order_id != second.order_id


@pytest.mark.pattern("F35")
@pytest.mark.django_db
def test_an_order_that_is_there_although_the_record_of_its_key_is_lost_is_not_posted_again() -> None:
    post("b")
    SubmissionKey.objects.all().delete()
    first, second = post("a", "b")
    assert first.posted_at is not None
    assert second == IdempotencyRecord(keyed("b").order_id, "h")
    assert queued() == [keyed("b").order_id, keyed("a").order_id]


@pytest.mark.pattern("S3")
def test_a_key_that_retention_is_just_deleting_with_its_order_places_a_new_order(
    new_session: NewSession,
) -> None:
    old = keyed("b").order_id
    ArchivedOrder.objects.create(
        order_id=old, state="processed", last_event=0, document={}, placed_at=MOMENT, finished_at=MOMENT
    )
    SubmissionKey.objects.create(client="user:1", key="b", body_hash="h", order_id=old)
    retention, client = new_session(), new_session()
    retention.begin()
    retention.do(lambda: moving.delete_archived(before=datetime(2100, 1, 1, tzinfo=UTC)))
    posting = client.start(lambda: post("a", "b", "c"))
    client.await_wait()
    retention.commit()
    assert all(record.posted_at for record in posting.result(timeout=PATIENCE))
    assert sorted(queued()) == sorted(keyed(key).order_id for key in "abc")


@pytest.mark.pattern("S3", "F3")
def test_it_waits_for_another_post_with_one_of_its_keys_and_finds_what_that_has_posted(
    new_session: NewSession,
) -> None:
    single, batch = new_session(), new_session()
    single.begin()
    single.do(lambda: submissions.post_once(**keyed("b")._asdict()))
    posting = batch.start(lambda: post("a", "b", "c"))
    batch.await_wait()
    assert SubmissionMessage.objects.count() == 0
    single.commit()
    assert [record.posted_at is not None for record in posting.result(timeout=PATIENCE)] == [
        True,
        False,
        True,
    ]
    assert sorted(queued()) == sorted(keyed(key).order_id for key in "abc")


@pytest.mark.pattern("S3", "F3")
def test_a_key_is_free_again_if_the_other_post_is_rolled_back(new_session: NewSession) -> None:
    single, batch = new_session(), new_session()
    single.begin()
    single.do(lambda: submissions.post_once(**keyed("b")._asdict()))
    posting = batch.start(lambda: post("a", "b"))
    batch.await_wait()
    single.rollback()
    assert all(record.posted_at for record in posting.result(timeout=PATIENCE))


@pytest.mark.pattern("S3", "F3")
def test_two_with_the_same_keys_in_opposite_order_never_wait_in_a_circle(new_session: NewSession) -> None:
    """Both have begun when the key in the middle becomes free."""
    single, first, second = new_session(), new_session(), new_session()
    single.begin()
    single.do(lambda: submissions.post_once(**keyed("m")._asdict()))
    forward = first.start(lambda: post("a", "m", "z"))
    first.await_wait()
    backward = second.start(lambda: post("z", "m", "a"))
    second.await_wait()
    single.rollback()
    for posting, is_new in ((forward, True), (backward, False)):
        records = posting.result(timeout=PATIENCE)
        assert [record.posted_at is not None for record in records] == [is_new] * 3
    assert queued() == [keyed(key).order_id for key in "amz"]
