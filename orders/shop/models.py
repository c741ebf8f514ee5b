"""The shop's own tables: what customers can buy, in minor units of its currency, and whether its stock can be read."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Edition(models.TextChoices):
    """How a poster is printed."""

    OPEN = "open", _("Open edition")
    SIGNED = "signed", _("Signed and numbered")


class Product(models.Model):
    """What customers can buy: a poster in one size and edition (docs/adr/0010).

    The catalogue shows a poster as one product. Its other sizes and editions are products of their own, which name that
    one in `variant_of` and share its picture and description. `design` is what the picture is drawn from. `stock` is
    how many the warehouse had left when it was last asked (`orders.shop.stock`). The admin site edits the rest.
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
    stock = models.PositiveIntegerField(
        null=True, blank=True, editable=False, help_text="how many are left; empty if not known"
    )
    stock_read_at = models.DateTimeField(null=True, blank=True, editable=False)
    edition_size = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="how many numbered prints there are of a signed edition; empty if they have no numbers",
    )
    is_listed = models.BooleanField(default=True)
    rank = models.PositiveIntegerField(
        default=1000, help_text="position among the featured posters, lowest first"
    )
    added_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "orders_product"  # from when there was one business
        ordering = ("title",)
        constraints = [
            models.CheckConstraint(condition=models.Q(price__gt=0), name="product_has_a_price"),
            models.CheckConstraint(
                condition=models.Q(variant_of=None) | ~models.Q(variant_of=models.F("sku")),
                name="product_is_no_variant_of_itself",
            ),
            models.CheckConstraint(
                condition=models.Q(stock=None, stock_read_at=None)
                | models.Q(stock__isnull=False, stock_read_at__isnull=False),
                name="stock_was_read_at_a_time",
            ),
            models.CheckConstraint(
                condition=models.Q(edition_size=None)
                | models.Q(edition="signed", edition_size__gte=1, edition_size__lte=9_999),
                name="only_a_signed_edition_is_numbered",
            ),
            models.UniqueConstraint(
                fields=["variant_of", "size", "edition"], name="one_variant_per_size_and_edition"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.sku})"


class StockReading(models.Model):
    """Since when the warehouse's stock cannot be read; null if it can be. One row, written by `orders.shop.stock`."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    failing_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="there_is_one_reading_of_stock")]
