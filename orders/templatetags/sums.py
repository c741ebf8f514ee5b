"""Sums of money in templates: `{{ progress.money|sums }}` is "€468.00, €39.00 held"."""

from django import template

from orders.selectors.desk.money_back import MoneyBack
from orders.wording.bulk_sums import sums_of

register = template.Library()


@register.filter
def sums(back: MoneyBack | str | None) -> str:
    """The sums by currency in short; empty without any."""
    return sums_of(back) if isinstance(back, MoneyBack) else ""
