"""Deletes rows that are no longer needed, a few thousand at a time, so that the hot tables stay small."""

from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from orders.models import AgentInstance, OutgoingMessage, RoleInstance, SetAside, StatusMessage, SubmissionKey
from orders.vocabulary import MessageState

STATUS_MESSAGES = timedelta(days=30)
"""How long a response queue keeps a message that its application does not delete."""
SUBMISSION_KEYS = timedelta(days=30)
"""How long an Idempotency-Key is remembered."""
REPLAYED = timedelta(days=90)
"""How long a set-aside submission is kept after it was replayed."""
INSTANCES = timedelta(days=1)
"""How long a process is listed after its last heartbeat."""
SENT_MESSAGES = timedelta(days=30)
"""How long the outbox keeps a message that was sent or not needed."""
FAILED_MESSAGES = timedelta(days=90)
"""How long the outbox keeps a failed message, which an operator can still retry."""
BATCH = 5_000


def delete_what_is_old() -> int:
    """Deletes what is past its retention time; returns the number of rows. Safe to run twice at once."""
    now = timezone.now()
    old: list[QuerySet] = [  # type: ignore[type-arg]
        StatusMessage.objects.filter(posted_at__lt=now - STATUS_MESSAGES),
        SubmissionKey.objects.filter(created_at__lt=now - SUBMISSION_KEYS),
        SetAside.objects.filter(replayed_at__lt=now - REPLAYED),
        AgentInstance.objects.filter(seen_at__lt=now - INSTANCES),
        RoleInstance.objects.filter(seen_at__lt=now - INSTANCES),
        OutgoingMessage.objects.filter(ended_at__lt=now - SENT_MESSAGES).exclude(state=MessageState.FAILED),
        OutgoingMessage.objects.filter(ended_at__lt=now - FAILED_MESSAGES),
    ]
    return sum(_delete(rows) for rows in old)


def _delete(rows: QuerySet) -> int:  # type: ignore[type-arg]
    deleted = 0
    while ids := list(rows.values_list("pk", flat=True)[:BATCH]):
        deleted += rows.model.objects.filter(pk__in=ids).delete()[0]
    return deleted
