"""A reference is one order's, whoever posts at the same moment (S3)."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import transaction
from uuid_utils.compat import uuid7

from orders.engine.channels import submissions
from orders.engine.channels.submission_records import IdempotencyRecord, find_record
from orders.models import ArchivedOrder, SubmissionKey, SubmissionMessage
from orders.retention import moving
from tests.support.two_sessions import PATIENCE, NewSession, all_at_once

LATEST = datetime(2100, 1, 1, tzinfo=UTC)


def post_once(
    order_id: UUID, *, key: str | None = None, reference: str | None = "r", client: str = "app"
) -> IdempotencyRecord:
    with transaction.atomic():
        return submissions.post_once(
            order_id=order_id,
            client=client,
            body={},
            key=key,
            body_hash="h",
            reference_hash=reference,
        )


def taken_by(order_id: UUID) -> IdempotencyRecord:
    return IdempotencyRecord(order_id, "h", by_reference=True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("S3")
def test_exactly_one_of_twenty_posts_with_one_reference_is_new() -> None:
    ids = [uuid7() for _ in range(20)]
    answers = all_at_once(20, lambda n: post_once(ids[n], key=f"k{n}" if n % 2 else None))
    (new,) = [answer for answer in answers if answer.posted_at]
    assert ids[answers.index(new)] == new.order_id
    assert [answer for answer in answers if answer != new] == [taken_by(new.order_id)] * 19
    assert SubmissionMessage.objects.get().order_id == SubmissionKey.objects.get().order_id == new.order_id


@pytest.mark.pattern("S3")
@pytest.mark.parametrize("key", [None, "another"])
@pytest.mark.parametrize("commits", [True, False], ids=["committed", "rolled back"])
def test_a_post_waits_for_one_with_its_reference_that_is_not_committed_yet(
    new_session: NewSession, key: str | None, commits: bool
) -> None:
    first, second = uuid7(), uuid7()
    session, other = new_session(), new_session()
    session.begin()
    assert session.do(lambda: post_once(first, key="k")).posted_at
    waiting = other.start(lambda: post_once(second, key=key))
    other.await_wait()
    session.commit() if commits else session.rollback()
    answer = waiting.result(timeout=PATIENCE)
    if commits:
        assert answer == taken_by(first)
    else:
        assert (answer.order_id, answer.posted_at is None, answer.by_reference) == (second, False, False)
    assert SubmissionMessage.objects.get().order_id == (first if commits else second)


@pytest.mark.django_db
@pytest.mark.pattern("S3")
def test_a_key_counts_before_a_reference() -> None:
    first, second = uuid7(), uuid7()
    post_once(first, key="k")
    post_once(second, key="l", reference="s")
    assert post_once(uuid7(), key="l") == IdempotencyRecord(second, "h")
    assert find_record(client="app", key="l", reference_hash="r") == IdempotencyRecord(second, "h")
    assert find_record(client="app", key=None, reference_hash="r") == taken_by(first)
    assert find_record(client="app", key=None, reference_hash="q") is None
    assert find_record(client="another", key="k", reference_hash="r") is None
    assert post_once(uuid7(), client="another").posted_at


@pytest.mark.pattern("S3")
def test_a_reference_that_retention_is_just_deleting_with_its_order_places_a_new_one(
    new_session: NewSession,
) -> None:
    order_id = uuid7()
    ArchivedOrder.objects.create(
        order_id=order_id, state="processed", document={}, placed_at=LATEST, finished_at=LATEST
    )
    SubmissionKey.objects.create(client="app", reference_hash="r", body_hash="h", order_id=order_id)
    retention, client = new_session(), new_session()
    retention.begin()
    retention.do(lambda: moving.delete_archived(before=LATEST))
    posting = client.start(lambda: post_once(order_id))
    client.await_wait()
    retention.commit()
    assert posting.result(timeout=PATIENCE).posted_at == SubmissionMessage.objects.get().posted_at
    assert SubmissionKey.objects.get().order_id == order_id
