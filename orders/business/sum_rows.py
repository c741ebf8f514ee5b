"""What an order's total is made of beside its lines. Pure, and without the database: agents write it into emails."""

from dataclasses import dataclass

from orders.fields.money import Money


@dataclass(frozen=True, kw_only=True)
class SumRow:
    """What stands between an order's lines and its total, such as what its delivery costs, in the active language. What
    `is_included` is part of the total already, as a tax is; the rest is added to the lines."""

    label: str
    amount: Money
    is_included: bool
