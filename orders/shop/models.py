"""The shop's own tables: what customers can buy, whether its stock can be read, and what its delivery costs. Prices are
in minor units of their currency."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from orders.shop.delivery import HIGHEST_RATE, MOST_DAYS

LONGEST_SIZE = 12
"""Characters."""
VARIANT_OF_ITSELF = "A product can’t be a variant of itself."


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
    size = models.CharField(max_length=LONGEST_SIZE, blank=True, help_text="In centimetres, as in 30x40.")
    edition = models.CharField(max_length=12, choices=Edition, default=Edition.OPEN)
    title = models.CharField(max_length=120)
    artist = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    price = models.PositiveIntegerField(
        help_text="In minor units of the currency: 3900 for €39.00. It includes the tax."
    )
    currency = models.CharField(max_length=3, default="EUR")
    design = models.JSONField(default=dict)
    stock = models.PositiveIntegerField(
        null=True, blank=True, editable=False, help_text="how many are left; empty if not known"
    )
    stock_read_at = models.DateTimeField(null=True, blank=True, editable=False)
    edition_size = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="How many numbered prints there are of a signed edition, never fewer than are sold. Leave it empty if"
        " they have no numbers.",
    )
    is_listed = models.BooleanField(default=True)
    rank = models.PositiveIntegerField(
        default=1000, help_text="Its position among the featured posters, lowest first."
    )
    added_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "orders_product"  # from when there was one business
        ordering = ("title",)
        constraints = [
            models.CheckConstraint(
                condition=models.Q(price__gt=0),
                name="product_has_a_price",
                violation_error_message="The price must be more than 0.",
            ),
            models.CheckConstraint(
                condition=models.Q(variant_of=None) | ~models.Q(variant_of=models.F("sku")),
                name="product_is_no_variant_of_itself",
                violation_error_message=VARIANT_OF_ITSELF,
            ),
            models.CheckConstraint(
                condition=models.Q(stock=None, stock_read_at=None)
                | models.Q(stock__isnull=False, stock_read_at__isnull=False),
                name="stock_was_read_at_a_time",
                violation_error_message="A stock needs the time when it was read, and only a stock has one.",
            ),
            models.CheckConstraint(
                condition=models.Q(edition_size=None)
                | models.Q(edition="signed", edition_size__gte=1, edition_size__lte=9_999),
                name="only_a_signed_edition_is_numbered",
                violation_error_message="Only a signed edition has numbers, from 1 to 9,999 of them.",
            ),
            models.UniqueConstraint(
                fields=["variant_of", "size", "edition"],
                name="one_variant_per_size_and_edition",
                violation_error_message="This poster already has a variant of this size and edition.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.sku})"


class DeliveryTerms(models.Model):
    """On which terms orders in a currency are delivered to a country (docs/adr/0084).

    Without any terms for a currency its orders are delivered everywhere for nothing, and nothing is said of time and
    tax. With some, a country is served if there are terms for it, or for every other country. The admin site edits
    them; orders keep those on which they were placed.
    """

    country = models.CharField(
        max_length=2,
        blank=True,
        validators=[RegexValidator("^[A-Z]{2}$", "Enter a two-letter code in capitals, such as DE.")],
        help_text="ISO 3166 code, as in DE. Leave it empty for every other country. As soon as a currency has any"
        " terms, a country without terms in it is only served if there are terms for every other country.",
    )
    currency = models.CharField(
        max_length=3,
        default="EUR",
        validators=[RegexValidator("^[A-Z]{3}$", "Enter a three-letter code in capitals, such as EUR.")],
    )
    price = models.PositiveIntegerField(
        help_text="In minor units of the currency: 690 for €6.90, 0 if delivery is free."
    )
    fewest_days = models.PositiveSmallIntegerField(
        validators=[MinValueValidator(1)], help_text="Working days from the order to the door, at least."
    )
    most_days = models.PositiveSmallIntegerField(
        validators=[MaxValueValidator(MOST_DAYS)],
        help_text="Working days from the order to the door, at most.",
    )
    tax_rate = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(HIGHEST_RATE)],
        help_text="In hundredths of a percent: 2100 for 21%, 0 if prices include no tax.",
    )

    class Meta:
        ordering = ("currency", "country")
        verbose_name = verbose_name_plural = "delivery terms"
        constraints = [
            models.UniqueConstraint(
                fields=["country", "currency"],
                name="one_delivery_per_country_and_currency",
                violation_error_message="There are terms for this country and currency already.",
            ),
            models.CheckConstraint(
                condition=models.Q(country="") | models.Q(country__regex="^[A-Z]{2}$"),
                name="delivery_goes_to_a_country_or_every_other",
                violation_error_message="The country must be a two-letter code in capitals, or empty.",
            ),
            models.CheckConstraint(
                condition=models.Q(currency__regex="^[A-Z]{3}$"),
                name="delivery_is_paid_in_a_currency",
                violation_error_message="The currency must be a three-letter code in capitals.",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    fewest_days__gte=1, fewest_days__lte=models.F("most_days"), most_days__lte=MOST_DAYS
                ),
                name="delivery_takes_from_the_fewest_days_to_the_most",
                violation_error_message="The fewest days can’t be more than the most days.",
            ),
            models.CheckConstraint(
                condition=models.Q(tax_rate__lte=HIGHEST_RATE),
                name="tax_is_at_most_half_of_a_price",
                violation_error_message="The tax rate can’t be more than 50%.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.country or 'every other country'} ({self.currency})"


class StockReading(models.Model):
    """Since when the warehouse's stock cannot be read; null if it can be. One row, written by `orders.shop.stock`."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    failing_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="there_is_one_reading_of_stock")]
