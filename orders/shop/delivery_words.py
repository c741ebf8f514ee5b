"""What customers read of delivery and tax: the rows of an order's sum, and when it should arrive."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from babel import Locale
from babel.dates import format_interval, format_skeleton
from babel.numbers import format_percent
from django.utils.translation import gettext as _

from orders.business import Money, SumRow
from orders.emails.letter import one_line
from orders.fields import countries
from orders.fields.locales import reader_locale
from orders.shop.delivery import Arrival, Delivery, Tax, delivery_of, tax_of
from orders.shop.description import ship_to
from orders.shop.pricing import Tariff

DAY = "MMMEd"
"""A day as people plan by it, as in Tue, Dec 1, in the pattern language of CLDR."""


def sum_rows(data: Mapping[str, Any]) -> Sequence[SumRow]:
    """What stands between the lines and the total of an order; nothing where its data do not say."""
    currency = data.get("currency")
    if not isinstance(currency, str):
        return []
    country = one_line(ship_to(data).get("country", ""))
    delivery, tax = delivery_of(data), tax_of(data)
    return rows(delivery, tax, currency=currency, country=country)


def rows(delivery: Delivery | None, tax: Tax | None, *, currency: str, country: str) -> Sequence[SumRow]:
    """The rows of a delivery to a country, and of the tax in the total."""
    both: list[SumRow] = []
    if delivery:
        label = _("Delivery to {country}").format(country=countries.name(country))
        amount = Money(amount=delivery.price, currency=currency)
        both.append(SumRow(label=label, amount=amount, is_included=False))
    if tax:
        label = _("Includes {rate} VAT").format(rate=percentage(tax.rate, locale=reader_locale()))
        both.append(SumRow(label=label, amount=Money(amount=tax.amount, currency=currency), is_included=True))
    return both


def percentage(rate: int, *, locale: Locale) -> str:
    """Writes a rate, which is in hundredths of a percent: "21%", "8.1%"."""
    text: str = format_percent(Decimal(rate) / 10_000, format="#,##0.##%", locale=locale)
    return text


def arrives(arrival: Arrival, *, locale: Locale) -> str:
    """Writes from when to when a delivery should arrive: "Tue, Dec 1 – Thu, Dec 3"; a day alone if they are one."""
    if arrival.earliest == arrival.latest:
        return day(arrival.earliest, locale=locale)
    text: str = format_interval(arrival.earliest, arrival.latest, skeleton=DAY, locale=locale)
    return text


def day(at: date, *, locale: Locale) -> str:
    """Writes a day: "Tue, Dec 1"."""
    text: str = format_skeleton(DAY, at, locale=locale)
    return text


class TermsRow(NamedTuple):
    """What delivery to a country costs, and how many working days it takes; `country` is empty for every other one."""

    country: str
    price: Money
    days: str


def terms_rows(tariff: Tariff) -> Sequence[TermsRow]:
    """All terms of delivery, by the name of the country, every other one last."""
    listed = [
        TermsRow(
            country=countries.name(country) if country else "",
            price=Money(amount=terms.price, currency=currency),
            days=_days(terms.fewest_days, terms.most_days),
        )
        for currency, country, terms in tariff.listed()
    ]
    return sorted(listed, key=lambda row: (not row.country, countries.sorted_by(row.country)))


def _days(fewest: int, most: int) -> str:
    return str(fewest) if fewest == most else f"{fewest}–{most}"
