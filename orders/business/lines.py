"""The lines of an order, and what people see of what they name. Pure."""

from dataclasses import dataclass

from orders.fields.money import Money


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of an order. `sku` is the code of what was ordered; `unit_price` is in minor units."""

    sku: str
    title: str
    quantity: int = 1
    unit_price: int = 0


@dataclass(frozen=True, kw_only=True)
class LineName:
    """What emails call what was ordered: its `title`, and `details` that tell it from others of that title, such as
    its size, in the active language."""

    title: str
    details: str = ""


@dataclass(frozen=True, kw_only=True)
class LinePicture:
    """A picture of what was ordered, as a PNG, with its size in pixels."""

    png: bytes
    width: int
    height: int


@dataclass(frozen=True, kw_only=True)
class SumRow:
    """What stands between an order's lines and its total, such as what its delivery costs, in the active language. What
    `is_included` is part of the total already, as a tax is; the rest is added to the lines."""

    label: str
    amount: Money
    is_included: bool
