"""Whether a product can be had, by what the warehouse last said (docs/adr/0085). Pure."""

from datetime import datetime, timedelta
from enum import StrEnum

FRESH = timedelta(minutes=15)
"""How long a reading counts. After that, nobody knows what is left."""
FEW = 5
"""The most of which a page says that only so many are left."""


class Availability(StrEnum):
    """Whether a product can be had. What nobody knows anything of is in stock: the reservation decides."""

    IN_STOCK = "in_stock"
    FEW_LEFT = "few_left"
    SOLD_OUT = "sold_out"
    NOT_FOR_SALE = "not_for_sale"


def known_stock(stock: int | None, read_at: datetime | None, *, now: datetime) -> int | None:
    """How many are left; None if that is not known, or was known too long ago."""
    return stock if read_at is not None and now - read_at < FRESH else None


def availability(*, is_listed: bool, stock: int | None) -> Availability:
    """Whether a product can be had of which so many are left."""
    if not is_listed:
        return Availability.NOT_FOR_SALE
    if stock is None or stock > FEW:
        return Availability.IN_STOCK
    return Availability.FEW_LEFT if stock else Availability.SOLD_OUT
