"""What the words of a search name: products by their SKU or title, and an account by its name."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Q

from orders.models import Product

MOST_PRODUCTS = 500
"""The most products that one search looks for."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """The products and accounts that some words name."""

    skus: list[str]
    customers: list[int]


def named_by(words: str) -> Named:
    """The products with this SKU or with these words in their titles, and the account of this name. Two queries."""
    products = Product.objects.filter(Q(sku__iexact=words) | Q(title__icontains=words))
    return Named(
        skus=list(products.order_by("sku").values_list("sku", flat=True)[:MOST_PRODUCTS]),
        customers=list(User.objects.filter(username__in={words, words.lower()}).values_list("pk", flat=True)),
    )
