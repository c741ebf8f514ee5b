"""The outbox: every email and alert webhook that is not a step of a workflow."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from orders.models.choices import choices
from orders.models.health import AlertGroup
from orders.vocabulary import MessageChannel, MessageKind, MessageState


class Priority(models.IntegerChoices):
    """The order in which messages are sent, the lowest number first."""

    ALERT = 0
    CUSTOMER = 1


class OrderUpdateReader(models.Model):
    """The one row that says how far the events of orders have been read for what customers are to be told.

    `orders.services.order_updates` writes it. It is made at the first look: what happened long before that is not told.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    position = models.BigIntegerField(help_text="of the last event that was read, in the feed of changes")
    event_id = models.BigIntegerField()
    looked_for_late_at = models.DateTimeField(help_text="when orders were last looked for that are late")

    def __str__(self) -> str:
        return f"read up to {self.position}"


class OutgoingMessage(models.Model):
    """One email, or one call of the webhook of the alerts. `orders.outbox.queue` posts it and describes its life.

    Its text is not stored: it is composed from the kind and the arguments each time it is sent, so that a link which
    opens an account or an order is never stored.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=12, choices=choices(MessageKind))
    channel = models.CharField(
        max_length=8, choices=choices(MessageChannel), default=MessageChannel.EMAIL.value
    )
    recipient = models.CharField(max_length=300, help_text="an email address, or the webhook's host")
    arguments = models.JSONField(default=dict, help_text="what the message is composed from; never a secret")
    group = models.ForeignKey(AlertGroup, null=True, on_delete=models.CASCADE, related_name="messages")
    order_id = models.UUIDField(null=True)
    key = models.CharField(
        max_length=120, null=True, unique=True, help_text="a second message with the same key is ignored"
    )
    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.CUSTOMER)
    state = models.CharField(max_length=8, choices=choices(MessageState), default=MessageState.QUEUED.value)
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(
        null=True, help_text="when it is next tried; while it is being sent, when its sender is given up"
    )
    give_up_at = models.DateTimeField(help_text="a failure after this time is final")
    ended_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=300, blank=True, help_text="the error of the last attempt")

    class Meta:
        indexes = [
            models.Index(fields=["priority", "due_at"], condition=Q(due_at__isnull=False), name="outbox_due"),
            models.Index(fields=["state", "-id"], name="outbox_by_state"),
            models.Index(fields=["group", "-id"], condition=Q(group__isnull=False), name="outbox_by_group"),
            models.Index(fields=["ended_at"], condition=Q(ended_at__isnull=False), name="outbox_ended"),
            models.Index(Lower("recipient"), name="outbox_by_recipient"),
            models.Index(fields=["order_id"], condition=Q(order_id__isnull=False), name="outbox_by_order"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "sending"], due_at__isnull=False, ended_at__isnull=True)
                | Q(state__in=["sent", "skipped", "failed"], due_at__isnull=True, ended_at__isnull=False),
                name="an_outgoing_message_is_due_or_has_ended",
            ),
            models.CheckConstraint(
                condition=~Q(channel="webhook") | Q(kind__in=["alert", "approval"]),
                name="only_messages_for_operators_go_to_the_webhook",
            ),
            models.CheckConstraint(
                condition=~Q(kind="alert") | Q(group__isnull=False), name="an_alert_message_has_its_group"
            ),
        ]

    @property
    def alerts(self) -> int:
        """The number of new alerts that it reports."""
        return int(self.arguments.get("alerts", 0))

    @property
    def sent_at(self) -> datetime | None:
        """When it was sent, or None."""
        return self.ended_at if self.state == MessageState.SENT else None

    def __str__(self) -> str:
        return f"{self.kind} {self.channel} {self.pk}: {self.state}"
