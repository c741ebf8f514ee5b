"""The orders database: orders of every kind, and their lines. Amounts are in minor units of their currency."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Order(models.Model):
    """An order as it was placed, and what people see of it. Its progress is in `OrderProcess`.

    `orders.business.intake` inserts it with its lines and its process, and nothing changes it afterwards but its
    customer: she makes an account, or is erased. `data` are what its kind reads (`OrderKind.read`); the other columns
    are its profile.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    customer = models.ForeignKey(  # whose index is `order_by_customer`
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    subject = models.CharField(max_length=120, blank=True, db_default="", help_text="what the order is about")
    reference = models.CharField(
        max_length=120, blank=True, default="", db_default="", help_text="what its client calls it"
    )
    metadata = models.JSONField(null=True, help_text="its client's own texts by their names, if it has any")
    title = models.CharField(max_length=200, blank=True, db_default="")
    email = models.EmailField(blank=True, db_default="")
    currency = models.CharField(max_length=3, blank=True, db_default="")
    total = models.PositiveBigIntegerField(null=True, help_text="its value in minor units, if it has one")
    attributes = ArrayField(
        models.CharField(max_length=240), db_default=[], help_text="what it is searched by, as name=value"
    )
    data = models.JSONField(null=True)
    placed_at = models.DateTimeField()
    promised_by = models.DateTimeField(null=True, help_text="when its customer expects it to be done")
    inserted_at = models.DateTimeField(db_default=Now())
    tells_customer = models.BooleanField(
        default=False, db_default=False, help_text="whether its customer is emailed what becomes of it"
    )
    ship_to = models.JSONField(null=True, help_text="only of orders from before there were data")
    payment_method = models.CharField(max_length=64, blank=True, db_default="")

    class Meta:
        indexes = [
            models.Index(fields=["customer", "-placed_at"], name="order_by_customer"),
            models.Index(fields=["total"], name="order_by_total"),
            models.Index(fields=["subject"], condition=~Q(subject=""), name="order_by_subject"),
            GinIndex(fields=["attributes"], condition=~Q(attributes=[]), name="order_by_attribute"),
            models.Index(fields=["reference"], condition=~Q(reference=""), name="order_by_reference"),
            GinIndex(
                fields=["metadata"],
                opclasses=["jsonb_path_ops"],
                condition=Q(metadata__isnull=False),
                name="order_by_metadata",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(total=None, currency="") | (Q(total__isnull=False) & ~Q(currency="")),
                name="a_value_has_a_currency",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class OrderLine(models.Model):
    """One line of an order, with its title and price at the time of the order."""

    order = models.ForeignKey(  # whose index is `one_line_per_product`
        Order, on_delete=models.CASCADE, related_name="lines", db_index=False
    )
    sku = models.CharField(max_length=40, db_index=True)
    title = models.CharField(max_length=120)
    quantity = models.PositiveIntegerField()
    unit_price = models.PositiveIntegerField(help_text="minor units")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(quantity__gt=0), name="line_has_a_quantity"),
            models.UniqueConstraint(fields=["order", "sku"], name="one_line_per_product"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.title}"
