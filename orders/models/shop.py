"""The orders database: products, orders and their lines. Amounts are in minor units of their currency."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from uuid_utils.compat import uuid7


class Edition(models.TextChoices):
    """How a poster is printed."""

    OPEN = "open", _("Open edition")
    SIGNED = "signed", _("Signed and numbered")


class Product(models.Model):
    """What customers can buy: a poster in one size and edition (docs/adr/0010).

    The catalogue shows a poster as one product. Its other sizes and editions are products of their own, which name that
    one in `variant_of` and share its picture and description. `design` is what the picture is drawn from. The admin
    site edits products.
    """

    sku = models.CharField(max_length=40, primary_key=True)
    variant_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="variants"
    )
    size = models.CharField(max_length=12, blank=True, help_text="centimetres, as in 30x40")
    edition = models.CharField(max_length=12, choices=Edition, default=Edition.OPEN)
    title = models.CharField(max_length=120)
    artist = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    price = models.PositiveIntegerField(help_text="minor units")
    currency = models.CharField(max_length=3, default="EUR")
    design = models.JSONField(default=dict)
    is_listed = models.BooleanField(default=True)
    rank = models.PositiveIntegerField(
        default=1000, help_text="position among the featured posters, lowest first"
    )
    added_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("title",)
        constraints = [
            models.CheckConstraint(condition=models.Q(price__gt=0), name="product_has_a_price"),
            models.CheckConstraint(
                condition=models.Q(variant_of=None) | ~models.Q(variant_of=models.F("sku")),
                name="product_is_no_variant_of_itself",
            ),
            models.UniqueConstraint(
                fields=["variant_of", "size", "edition"], name="one_variant_per_size_and_edition"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.sku})"


class Order(models.Model):
    """What a customer ordered, as it was at that time. Its progress is in `OrderProcess`.

    `orders.workflow.intake` inserts it with its lines and its process, and nothing changes it afterwards.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    customer = models.ForeignKey(  # whose index is `order_by_customer`
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    email = models.EmailField()
    currency = models.CharField(max_length=3)
    total = models.PositiveBigIntegerField(help_text="minor units")
    ship_to = models.JSONField()
    payment_method = models.CharField(max_length=64)
    placed_at = models.DateTimeField()
    inserted_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["customer", "-placed_at"], name="order_by_customer"),
            models.Index(fields=["total"], name="order_by_total"),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(total__gt=0), name="order_has_a_total"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class OrderLine(models.Model):
    """One product of an order, with its title and price at the time of the order."""

    order = models.ForeignKey(  # whose index is `one_line_per_product`
        Order, on_delete=models.CASCADE, related_name="lines", db_index=False
    )
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+", db_column="sku")
    title = models.CharField(max_length=120)
    quantity = models.PositiveIntegerField()
    unit_price = models.PositiveIntegerField(help_text="minor units")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(quantity__gt=0), name="line_has_a_quantity"),
            models.UniqueConstraint(fields=["order", "product"], name="one_line_per_product"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.title}"
