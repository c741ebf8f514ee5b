"""What has passed its time is deleted, and nothing else."""

from datetime import timedelta

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from orders.models import StatusMessage, SubmissionKey
from orders.retention import delete_what_is_old


@pytest.mark.django_db
def test_only_what_is_old_is_deleted() -> None:
    now = timezone.now()
    for age in (29, 31):
        moment = now - timedelta(days=age)
        StatusMessage.objects.create(queue="q", order_id=uuid7(), kind="received", posted_at=moment)
        SubmissionKey.objects.create(
            client="c", key=str(age), body_hash="", order_id=uuid7(), created_at=moment
        )
    assert delete_what_is_old() == 2
    assert delete_what_is_old() == 0
    assert StatusMessage.objects.count() == 1
    assert SubmissionKey.objects.get().key == "29"
