"""A sum of money, as the rooms pass it to each other."""

from dataclasses import dataclass
from decimal import Decimal

from babel.numbers import get_currency_precision


@dataclass(frozen=True, kw_only=True)
class Money:
    """An amount in minor units of its currency: 3900 and EUR are 39 euros."""

    amount: int
    currency: str

    @property
    def digits(self) -> int:
        """How many decimals the currency has."""
        return get_currency_precision(self.currency)

    @property
    def major_units(self) -> Decimal:
        """The amount in whole units: 39.00."""
        return Decimal(self.amount).scaleb(-self.digits)

    @property
    def figures(self) -> str:
        """The amount as anybody can type it, without a currency or separators: "1039.00"."""
        return f"{self.major_units:.{self.digits}f}"
