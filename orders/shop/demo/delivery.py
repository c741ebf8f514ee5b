"""The demonstration's terms of delivery: from the Netherlands, with the tax of each country."""

from typing import NamedTuple

from orders.shop.demo.catalogue import CURRENCY
from orders.shop.models import DeliveryTerms


class Zone(NamedTuple):
    """What delivery costs, in cents, and how many working days it takes, to these countries by their codes. With each
    its tax, in hundredths of a percent."""

    price: int
    fewest_days: int
    most_days: int
    tax_rates: dict[str, int]


FARTHER = {
    "BG": 2000, "CZ": 2100, "EE": 2400, "ES": 2100, "FI": 2550, "GR": 2400, "HR": 2500, "HU": 2700, "IE": 2300,
    "IT": 2200, "LT": 2100, "LV": 2100, "PL": 2300, "PT": 2300, "RO": 2100, "SE": 2500, "SI": 2200, "SK": 2300,
}  # fmt: skip
ZONES = (
    Zone(490, 1, 2, {"NL": 2100}),
    Zone(690, 2, 4, {"AT": 2000, "BE": 2100, "DE": 1900, "DK": 2500, "FR": 2000, "LU": 1700}),
    Zone(890, 3, 6, FARTHER),
    Zone(1190, 5, 9, {"CY": 1900, "MT": 1800}),
    Zone(990, 3, 6, {"GB": 2000}),
    Zone(1290, 3, 6, {"CH": 810, "NO": 2500}),
    Zone(1590, 5, 9, {"US": 0}),
    Zone(1990, 7, 14, {"": 0}),
)


def load_delivery() -> None:
    """Inserts the terms that are missing. What the shop has changed stays."""
    DeliveryTerms.objects.bulk_create(
        [
            DeliveryTerms(
                country=country,
                currency=CURRENCY,
                price=zone.price,
                fewest_days=zone.fewest_days,
                most_days=zone.most_days,
                tax_rate=tax_rate,
            )
            for zone in ZONES
            for country, tax_rate in zone.tax_rates.items()
        ],
        ignore_conflicts=True,
    )
