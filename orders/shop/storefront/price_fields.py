"""The lowest and the highest price of the catalogue's filter, as people type them: 20, 19.50, 19,50, €1,000."""

import re
import unicodedata
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Literal

from babel.numbers import format_decimal
from django import forms
from django.utils.translation import gettext_lazy as _

from orders.fields.locales import reader_locale

LONGEST = 24
LARGEST = 1_000_000
"""Prices above this, in whole units of the currency, are lowered to it."""
CURRENCY_OR_SPACE = re.compile(r"\s|€|EUR", re.IGNORECASE)
PRICE = re.compile(r"([0-9]{1,3}(?:([.,'])[0-9]{3})(?:\2[0-9]{3})*|[0-9]+)(?:[.,]([0-9]*))?")
"""Whole units, with or without marks between thousands, and decimals. A mark before exactly three digits is one of
thousands: hardly a price has three decimals."""


class PriceField(forms.Field):
    """A price in whole units of the currency, or nothing. Its value is in minor units, rounded towards the prices that
    it allows: a highest price of 19.99 includes what costs just that."""

    def __init__(self, *, bound: Literal["lowest", "highest"]) -> None:
        super().__init__(required=False)
        self._rounding = ROUND_CEILING if bound == "lowest" else ROUND_FLOOR

    def to_python(self, value: Any) -> int | None:
        """The price. Raises `ValidationError` for any other text."""
        if not value or not value.strip():
            return None
        price = read_price(value)
        if price is None:
            raise forms.ValidationError(_("Enter a price, such as 20 or 19.50."), code="invalid")
        return int((min(price, Decimal(LARGEST)) * 100).to_integral_value(self._rounding))


def read_price(text: str) -> Decimal | None:
    """The price that a text stands for, with either decimal mark; None for any other text."""
    plain = CURRENCY_OR_SPACE.sub("", unicodedata.normalize("NFKC", text)) if len(text) <= LONGEST else ""
    match = PRICE.fullmatch(plain)
    if not match or not plain.isascii():
        return None
    return Decimal(f"{re.sub('[^0-9]', '', match[1])}.{match[3] or '0'}")


def price_text(price: int | None) -> str:
    """A price in minor units as its reader would type it: "20", "19.50"; empty for none."""
    if price is None:
        return ""
    amount = Decimal(price) / 100
    pattern = "0" if amount == amount.to_integral_value() else "0.00"
    return str(format_decimal(amount, format=pattern, locale=reader_locale()))
