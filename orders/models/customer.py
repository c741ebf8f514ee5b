"""What the shop stores about its customers besides their orders. Their accounts are Django's `User`."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Address(models.Model):
    """A postal address that a customer has saved. An order's `ship_to` is a copy of its parts. Those that it
    does not have are empty.

    Only `orders.services.accounts` writes it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="addresses")
    name = models.CharField(max_length=200)
    street = models.CharField(max_length=200)
    line2 = models.CharField(max_length=200, blank=True, default="", db_default="")
    city = models.CharField(max_length=200)
    state = models.CharField(max_length=200, blank=True, default="", db_default="")
    postal_code = models.CharField(max_length=200, blank=True)
    country = models.CharField(max_length=2, help_text="ISO 3166-1, two letters")
    phone = models.CharField(max_length=40, blank=True, default="", db_default="")
    is_default = models.BooleanField(default=False)
    added_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "addresses"
        ordering = ("-is_default", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=["user"], condition=Q(is_default=True), name="one_default_address_per_user"
            ),
            models.CheckConstraint(condition=Q(country__regex="^[A-Z]{2}$"), name="country_is_two_letters"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.city}"


class CustomerTerm(models.Model):
    """A term by whose beginning operators find the orders of an email: a part of it from the beginning of a word, or a
    name that its orders have (docs/adr/0063).

    Only `orders.services.customer_terms` adds rows, shortly after an order was inserted, and erasing a customer removes
    hers.
    """

    id = models.BigAutoField(primary_key=True)
    email = models.EmailField(help_text="in lower case")
    term = models.CharField(max_length=254, help_text="in lower case")
    is_name = models.BooleanField()

    class Meta:
        indexes = [
            models.Index(
                fields=["term", "email"],
                opclasses=["varchar_pattern_ops", "varchar_ops"],
                name="customer_term_by_beginning",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["email", "is_name", "term"], name="a_term_of_an_email_once"),
        ]

    def __str__(self) -> str:
        return f"{self.term} ({self.email})"


class TermsWalk(models.Model):
    """How far the orders have been looked through for the terms of their customers. One row, of key 1."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    until = models.DateTimeField(null=True, help_text="orders that were inserted before have been looked at")
    archived_after = models.UUIDField(null=True, help_text="behind which order of the archive it goes on")

    def __str__(self) -> str:
        return f"until {self.until}"
