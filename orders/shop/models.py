"""The shop's own table: what customers can buy. Prices are in minor units of their currency."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

LONGEST_SIZE = 12
"""Characters."""


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
    size = models.CharField(max_length=LONGEST_SIZE, blank=True, help_text="centimetres, as in 30x40")
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
        db_table = "orders_product"  # from when there was one business
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
