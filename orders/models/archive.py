"""The archive: finished orders that `orders.retention` has moved out of the hot tables."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now


class ArchivedOrder(models.Model):
    """A finished order with everything that was stored about it (docs/adr/0020).

    The columns are what it is found by. `document` has its rows as they were: `process`, `order`, `lines`, `steps`,
    `events`, `statuses` and `alerts`.
    """

    order_id = models.UUIDField(primary_key=True)
    customer = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    email = models.EmailField(blank=True)
    state = models.CharField(max_length=11)
    total = models.PositiveBigIntegerField(null=True, help_text="minor units")
    currency = models.CharField(max_length=3, blank=True)
    placed_at = models.DateTimeField(null=True, help_text="if the shop never knew it, when it was inserted")
    finished_at = models.DateTimeField()
    archived_at = models.DateTimeField(db_default=Now())
    last_event = models.BigIntegerField(default=0, help_text="the id of its last event, for its version")
    skus = ArrayField(models.CharField(max_length=40), db_default=[], help_text="of its lines")
    subject = models.CharField(max_length=120, blank=True, db_default="")
    reference = models.CharField(max_length=120, blank=True, default="", db_default="")
    metadata = models.JSONField(null=True)
    attributes = ArrayField(models.CharField(max_length=240), db_default=[], help_text="as name=value")
    document = models.JSONField()

    class Meta:
        indexes = [
            models.Index(F("customer"), F("placed_at").desc(), name="archived_by_customer_and_age"),
            models.Index(Lower("email"), name="archived_by_email"),
            models.Index(fields=["archived_at"], name="archived_by_age"),
            models.Index(fields=["state", "-placed_at", "-order_id"], name="archived_by_state"),
            models.Index(fields=["total", "-placed_at", "-order_id"], name="archived_by_total"),
            GinIndex(fields=["skus"], fastupdate=False, name="archived_by_sku"),
            models.Index(fields=["subject"], condition=~Q(subject=""), name="archived_by_subject"),
            GinIndex(
                fields=["attributes"],
                condition=~Q(attributes=[]),
                fastupdate=False,
                name="archived_by_attribute",
            ),
            models.Index(fields=["reference"], condition=~Q(reference=""), name="archived_by_reference"),
            GinIndex(
                fields=["metadata"],
                opclasses=["jsonb_path_ops"],
                condition=Q(metadata__isnull=False),
                fastupdate=False,
                name="archived_by_metadata",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id} {self.state}"
