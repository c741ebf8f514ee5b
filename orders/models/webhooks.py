"""What clients have us call when something happens to their orders. Only `orders.webhooks` writes these tables."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from orders.models.choices import choices
from orders.vocabulary import DeliveryState, DisabledReason


class WebhookEndpoint(models.Model):
    """The url at which a client receives what happens to its orders, of these kinds or, with none, of all.

    It reads the feed as any client does: `position` and `event_id` are the point up to which deliveries were made of
    it. While the endpoint is disabled it reads nothing.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    customer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    url = models.CharField(max_length=500)
    kinds = ArrayField(models.CharField(max_length=24), default=list)
    secret = models.CharField(max_length=200, help_text="sealed")
    previous_secret = models.CharField(
        max_length=200, blank=True, help_text="sealed; signs, too, for a while"
    )
    previous_until = models.DateTimeField(null=True)
    position = models.BigIntegerField()
    event_id = models.BigIntegerField()
    created_at = models.DateTimeField(db_default=Now())
    failing_since = models.DateTimeField(null=True, help_text="the first failure since the last success")
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = models.CharField(max_length=8, choices=choices(DisabledReason), blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(disabled_at=None, disabled_reason="")
                | (Q(disabled_at__isnull=False) & ~Q(disabled_reason="")),
                name="a_disabled_webhook_says_why",
            ),
            models.CheckConstraint(
                condition=Q(previous_until=None, previous_secret="")
                | (Q(previous_until__isnull=False) & ~Q(previous_secret="")),
                name="a_previous_secret_has_an_end",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class WebhookDelivery(models.Model):
    """One change of one order, for one endpoint. `orders.webhooks.deliveries` describes its life.

    Ids are in the order of the feed, which per order is that of the events. Of the undelivered messages of an order
    only the one with the lowest id has `due_at`; the others wait for it.
    """

    id = models.BigAutoField(primary_key=True)
    endpoint = models.ForeignKey(
        WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    order_id = models.UUIDField()
    event_id = models.BigIntegerField()
    message_id = models.CharField(max_length=60, help_text="the webhook-id")
    kind = models.CharField(max_length=24)
    body = models.TextField(help_text="what is posted, as JSON")
    state = models.CharField(max_length=9, choices=choices(DeliveryState), default=DeliveryState.QUEUED.value)
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(
        null=True, help_text="when it is next tried; while it is being sent, when its sender is given up"
    )
    attempts = models.PositiveIntegerField(default=0)
    tried_since = models.DateTimeField(null=True, help_text="when the first of these attempts began")
    delivered_at = models.DateTimeField(null=True)
    log = models.JSONField(
        default=list, help_text="the latest attempts, each with its request and its answer"
    )

    class Meta:
        verbose_name_plural = "webhook deliveries"
        indexes = [
            models.Index(
                fields=["endpoint", "due_at"], condition=Q(due_at__isnull=False), name="webhook_due"
            ),
            models.Index(fields=["endpoint"], condition=Q(state="sending"), name="webhook_under_way"),
            models.Index(
                fields=["endpoint", "order_id", "id"],
                condition=~Q(state="delivered"),
                name="webhook_undelivered",
            ),
            models.Index(fields=["endpoint", "-id"], name="webhook_by_endpoint"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "event_id"], name="one_delivery_per_event"),
            models.CheckConstraint(
                condition=Q(state="queued", delivered_at=None)
                | Q(state="sending", delivered_at=None, due_at__isnull=False)
                | Q(state="delivered", due_at=None, delivered_at__isnull=False),
                name="a_delivery_is_due_or_has_been_made",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.message_id}: {self.state}"
