"""What the words of a search name: lines by their SKU or what it stands for, a subject or a reference, and an account
by its name."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from orders.business import registry

MOST_SKUS = 500
"""The most codes that one search looks for."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """The codes of lines and the accounts that some words name. `subject`, which may be a reference too, is the words
    themselves."""

    skus: list[str]
    customers: list[int]
    subject: str


def named_by(words: str) -> Named:
    """What these words name, as each kind of order understands them. One query, and those of the kinds."""
    skus = {sku for kind in registry.kinds() for sku in kind.find_skus(words, MOST_SKUS)}
    return Named(
        skus=sorted(skus)[:MOST_SKUS],
        customers=list(User.objects.filter(username__in={words, words.lower()}).values_list("pk", flat=True)),
        subject=words,
    )
