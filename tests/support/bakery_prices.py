"""Cakes with a quantity and a price, whose total follows from the quantity."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from orders.business import (
    BadOrderError,
    Compensation,
    Environment,
    Field,
    FieldType,
    Json,
    Line,
    Money,
    OrderKind,
    Profile,
    Step,
    Workflow,
)
from orders.business.reading import read_text, read_whole

PRICE = 1_000
"""Of one cake, in minor units."""
PRICED = Workflow(
    name="bake-priced",
    version=1,
    steps=(
        Step(
            name="pay",
            agent="oven",
            operation="pay",
            data=lambda data: {"amount": data["total"]},
            compensation=Compensation.NONE,
            takes_value=True,
        ),
        Step(
            name="mix",
            agent="oven",
            operation="mix",
            data=lambda data: {"cake": data["cake"], "quantity": data["quantity"]},
            after=("pay",),
            compensation=Compensation.NONE,
            editable=("cake", "quantity"),
        ),
    ),
)


class PricedCake(OrderKind):
    """Cakes that are paid for."""

    name = PRICED.name
    label = "priced cake"
    fields = (
        Field(name="cake", label="Cake"),
        Field(name="quantity", label="Quantity", type=FieldType.NUMBER),
    )

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        return [PRICED]

    @classmethod
    def read(cls, data: Json) -> Json:
        read = {name: cls.read_field(name, data.get(name)) for name in ("cake", "quantity")}
        if data.get("total") != read["quantity"] * PRICE:
            raise BadOrderError("total must be the price of the cakes.", where="total")
        return {**read, "total": data["total"]}

    @classmethod
    def read_field(cls, name: str, value: object) -> Any:
        return read_whole(value, name, 1, 99) if name == "quantity" else read_text(value, name, 40)

    @classmethod
    def edit(cls, data: Json, changes: Json) -> Json:
        edited = {**data, **changes}
        return {**edited, "total": edited["quantity"] * PRICE}

    @classmethod
    def profile(cls, data: Json, *, placed_at: datetime) -> Profile:
        line = Line(sku="cake", title=data["cake"], quantity=data["quantity"], unit_price=PRICE)
        return Profile(
            title=f"{data['quantity']} × {data['cake']}",
            value=Money(amount=data["total"], currency="EUR"),
            lines=(line,),
        )
