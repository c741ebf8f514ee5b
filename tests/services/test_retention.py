"""Records that are too old are deleted, and nothing else."""

from datetime import timedelta

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from orders.models import OutgoingMessage, StatusMessage, SubmissionKey
from orders.retention import delete_what_is_old


@pytest.mark.django_db
def test_only_old_records_are_deleted() -> None:
    now = timezone.now()
    for age in (29, 31):
        moment = now - timedelta(days=age)
        StatusMessage.objects.create(queue="q", order_id=uuid7(), kind="received", posted_at=moment)
        SubmissionKey.objects.create(
            client="c", key=str(age), body_hash="", order_id=uuid7(), created_at=moment
        )
        for state in ("sent", "skipped", "failed"):
            OutgoingMessage.objects.create(kind="sign_up", state=state, give_up_at=moment, ended_at=moment)
    OutgoingMessage.objects.create(kind="sign_up", state="queued", give_up_at=moment, due_at=moment)
    assert delete_what_is_old() == 4
    assert delete_what_is_old() == 0
    remaining = OutgoingMessage.objects.order_by("state", "-ended_at").values_list("state", flat=True)
    assert list(remaining) == ["failed", "failed", "queued", "sent", "skipped"]
    OutgoingMessage.objects.filter(state="failed").update(ended_at=now - timedelta(days=91))
    assert delete_what_is_old() == 2
    assert StatusMessage.objects.count() == 1
    assert SubmissionKey.objects.get().key == "29"
