"""The terms of delivery as the page about delivery lists them."""

from collections.abc import Sequence
from typing import NamedTuple

from orders.business import Money
from orders.fields import countries
from orders.shop.pricing import Tariff


class TermsRow(NamedTuple):
    """What delivery to a country costs, and how many working days it takes; `country` is empty for every other one."""

    country: str
    price: Money
    days: str


def terms_rows(tariff: Tariff) -> Sequence[TermsRow]:
    """All terms of delivery, by the name of the country, every other one last."""
    unsorted_rows = [
        TermsRow(
            country=countries.name(country) if country else "",
            price=Money(amount=terms.price, currency=currency),
            days=_days(terms.fewest_days, terms.most_days),
        )
        for currency, country, terms in tariff.listed()
    ]
    return sorted(unsorted_rows, key=lambda row: (not row.country, countries.sorted_by(row.country)))


def _days(fewest: int, most: int) -> str:
    return str(fewest) if fewest == most else f"{fewest}–{most}"
