"""What REST clients see of an order's delivery, and of the tax that its total includes."""

from typing import Any

from rest_framework import serializers

from orders.api.representations import MoneyOut, Out
from orders.fields.money import Money
from orders.shop.delivery import Delivery, Tax


class OrderDeliveryOut(Out):
    """What the delivery costs, which is part of the order's total, and how many working days it should take from the
    order to the door. Working days are Monday to Friday."""

    price = MoneyOut()
    fewest_days = serializers.IntegerField()
    most_days = serializers.IntegerField()

    def to_representation(self, instance: tuple[Delivery, str]) -> dict[str, Any]:
        delivery, currency = instance
        price = MoneyOut.render(Money(amount=delivery.price, currency=currency))
        return {"price": price, "fewest_days": delivery.fewest_days, "most_days": delivery.most_days}


class OrderTaxOut(Out):
    """The tax that the order's total includes: `rate` is in hundredths of a percent, 2100 for 21%."""

    rate = serializers.IntegerField()
    amount = MoneyOut()

    def to_representation(self, instance: tuple[Tax, str]) -> dict[str, Any]:
        tax, currency = instance
        return {"rate": tax.rate, "amount": MoneyOut.render(Money(amount=tax.amount, currency=currency))}


MEMBERS = {"delivery": OrderDeliveryOut, "tax": OrderTaxOut}
"""By the names of the members that an order and a quote have of them."""
