"""What customers read of delivery and tax: the rows of an order's sum, and when it should arrive."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from babel import Locale
from babel.dates import format_date, format_interval, format_skeleton
from babel.numbers import format_percent
from django.utils.translation import gettext as _

from orders.business.sum_rows import SumRow
from orders.emails.letter import one_line
from orders.fields import countries
from orders.fields.locales import locale_of_dates, reader_locale
from orders.fields.money import Money
from orders.shop.delivery import Arrival, Delivery, Tax, delivery_of, tax_of

DAY = "MMMEd"
"""A day as people plan by it, as in Tue 1 Dec, in the pattern language of CLDR."""
WHOLE_DAY = {"hu": "MMMM d., EEEE"}
"""The pattern of such a day by language, where CLDR shortens its weekday to a letter: "dec. 1., K"."""


def sum_rows(data: Mapping[str, Any]) -> Sequence[SumRow]:
    """What stands between the lines and the total of an order; nothing where its data do not say."""
    currency = data.get("currency")
    if not isinstance(currency, str):
        return []
    address = data.get("ship_to")
    country = str(address.get("country", "")) if isinstance(address, Mapping) else ""
    return rows(delivery_of(data), tax_of(data), currency=currency, country=one_line(country))


def rows(delivery: Delivery | None, tax: Tax | None, *, currency: str, country: str) -> Sequence[SumRow]:
    """The rows of a delivery to a country, and of the tax in the total."""
    both: list[SumRow] = []
    if delivery:
        label = _("Delivery to {country}").format(country=countries.name_in_sentence(country))
        amount = Money(amount=delivery.price, currency=currency)
        both.append(SumRow(label=label, amount=amount, is_included=False))
    if tax:
        label = _("Includes {rate} VAT").format(rate=percentage(tax.rate, locale=reader_locale()))
        both.append(SumRow(label=label, amount=Money(amount=tax.amount, currency=currency), is_included=True))
    return both


def duties(delivery: Delivery | None, tax: Tax | None) -> str:
    """What is said of a delivery whose terms know no tax, which the country it goes to may ask for; "" otherwise."""
    if delivery is None or tax is not None:
        return ""
    return _(
        "This total includes no taxes. If import duties or taxes are due where it goes, you pay them on arrival."
    )


def duties_of(data: Mapping[str, Any]) -> str:
    """The same of an order with these data."""
    return duties(delivery_of(data), tax_of(data))


def percentage(rate: int, *, locale: Locale) -> str:
    """Writes a rate, which is in hundredths of a percent: "21%", "8.1%"."""
    text: str = format_percent(Decimal(rate) / 10_000, format="#,##0.##%", locale=locale)
    return text


def arrives(arrival: Arrival, *, locale: Locale) -> str:
    """Writes from when to when a delivery should arrive: "Tue 1 Dec – Thu 3 Dec"; a day alone if they are one."""
    if arrival.earliest == arrival.latest:
        return day(arrival.earliest, locale=locale)
    if locale.language in WHOLE_DAY:
        return f"{day(arrival.earliest, locale=locale)}\u2009–\u2009{day(arrival.latest, locale=locale)}"
    text: str = format_interval(
        arrival.earliest, arrival.latest, skeleton=DAY, locale=locale_of_dates(locale)
    )
    return text


def day(at: date, *, locale: Locale) -> str:
    """Writes a day: "Tue 1 Dec"."""
    if pattern := WHOLE_DAY.get(locale.language):
        return str(format_date(at, pattern, locale=locale))
    return str(format_skeleton(DAY, at, locale=locale_of_dates(locale)))
