"""The terms of delivery as the page about delivery lists them."""

from collections.abc import Sequence
from typing import NamedTuple

from babel.lists import format_list

from orders.business import Money
from orders.fields import countries
from orders.fields.locales import reader_locale
from orders.shop.pricing import Tariff
from orders.shop.served import present_not_served


class TermsRow(NamedTuple):
    """What delivery to a country costs, and how many working days it takes; `country` is empty for every other one."""

    country: str
    price: Money
    days: str


def terms_rows(tariff: Tariff) -> Sequence[TermsRow]:
    """The terms of delivery, by the name of the country, every other one last; without those of countries that a
    setting leaves out."""
    unsorted_rows = [
        TermsRow(
            country=countries.name(country) if country else "",
            price=Money(amount=terms.price, currency=currency),
            days=_days(terms.fewest_days, terms.most_days),
        )
        for currency, country, terms in tariff.listed()
        if country not in present_not_served()
    ]
    return sorted(unsorted_rows, key=lambda row: (not row.country, countries.sorted_by(row.country)))


def left_out(tariff: Tariff) -> str:
    """The countries that would have terms of delivery, but for the setting that leaves them out; empty if there are
    none."""
    codes = [code for code in present_not_served() if tariff.serves_any(code)]
    names = sorted(map(countries.name, codes), key=countries.sorted_by)
    return format_list(names, locale=reader_locale())


def _days(fewest: int, most: int) -> str:
    return str(fewest) if fewest == most else f"{fewest}–{most}"
