"""What is no longer needed is deleted, a few thousand rows at a time, so that the hot tables stay small."""

from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from orders.models import AgentInstance, OutgoingMessage, SetAside, StatusMessage, SubmissionKey
from orders.vocabulary import MessageState

STATUS_MESSAGES = timedelta(days=30)
"""How long a response queue keeps a message that its application has not deleted."""
SUBMISSION_KEYS = timedelta(days=30)
"""How long an Idempotency-Key is remembered."""
REPLAYED = timedelta(days=90)
INSTANCES = timedelta(days=1)
SENT_MESSAGES = timedelta(days=30)
"""How long the outbox keeps a message that was sent, or that there was no reason to send."""
FAILED_MESSAGES = timedelta(days=90)
"""How long it keeps one that failed, which an operator may still retry."""
BATCH = 5_000


def delete_what_is_old() -> int:
    """Deletes what has passed its time; returns how many rows. Safe to run twice at once."""
    now = timezone.now()
    old: list[QuerySet] = [  # type: ignore[type-arg]
        StatusMessage.objects.filter(posted_at__lt=now - STATUS_MESSAGES),
        SubmissionKey.objects.filter(created_at__lt=now - SUBMISSION_KEYS),
        SetAside.objects.filter(replayed_at__lt=now - REPLAYED),
        AgentInstance.objects.filter(seen_at__lt=now - INSTANCES),
        OutgoingMessage.objects.filter(ended_at__lt=now - SENT_MESSAGES).exclude(state=MessageState.FAILED),
        OutgoingMessage.objects.filter(ended_at__lt=now - FAILED_MESSAGES),
    ]
    return sum(_delete(rows) for rows in old)


def _delete(rows: QuerySet) -> int:  # type: ignore[type-arg]
    deleted = 0
    while ids := list(rows.values_list("pk", flat=True)[:BATCH]):
        deleted += rows.model.objects.filter(pk__in=ids).delete()[0]
    return deleted
