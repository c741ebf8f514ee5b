"""Amounts of money in a setting: "EUR 500, GBP 400.50"."""

import re
from collections.abc import Mapping
from decimal import Decimal

from babel.numbers import get_currency_precision, list_currencies

CurrencyAmounts = Mapping[str, int]
"""An amount for each currency, in its minor units."""

_AMOUNT = re.compile(r"([A-Z]{3}) ([0-9]{1,12}(?:\.[0-9]{1,3})?)")


def read_amounts(text: str) -> CurrencyAmounts:
    """Reads amounts separated by commas. Raises `ValueError` for anything else, and for a currency that comes twice."""
    amounts: dict[str, int] = {}
    for part in text.split(","):
        match = _AMOUNT.fullmatch(part.strip())
        if match is None or match[1] not in list_currencies() or match[1] in amounts:
            raise ValueError(part)
        minor_units = Decimal(match[2]).scaleb(get_currency_precision(match[1]))
        if minor_units != minor_units.to_integral_value():
            raise ValueError(part)
        amounts[match[1]] = int(minor_units)
    return amounts
