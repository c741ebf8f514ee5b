"""What REST clients see of the numbers of an order's numbered prints."""

from typing import Any

from rest_framework import serializers

from orders.api.representations import Out
from orders.shop.editions import EditionNumbers


class OrderEditionOut(Out):
    """The `numbers` of the prints of one product of an order, in order, and how many its edition has: 12 and 13 of 100.
    The warehouse gives them when it reserves the prints, and takes them back if the order is cancelled."""

    sku = serializers.CharField()
    numbers = serializers.ListField(child=serializers.IntegerField())
    of = serializers.IntegerField()

    def to_representation(self, instance: tuple[str, EditionNumbers]) -> dict[str, Any]:
        sku, edition = instance
        return {"sku": sku, "numbers": list(edition.numbers), "of": edition.size}


class OrderEditions(serializers.ListField):
    """Those of all numbered products of an order."""

    child = OrderEditionOut()


MEMBERS = {"editions": OrderEditions}
"""By the name of the member that an order has of them, and no quote."""
