"""`manage.py compensate ID --reason TEXT`: has a whole order undone (C10)."""

from typing import Any

from django.core.management.base import CommandParser

from orders import services
from orders.management.operator import ActingCommand, find_order, operator_name


class Command(ActingCommand):
    help = (
        "Has everything that an order did undone: stock released, money returned, the shipment cancelled."
        " Exit codes: 0 done, 3 it is being undone already, 2 wrong use or no such order."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", help="the order's id, or a part of its beginning or end that is unique")
        parser.add_argument("--reason", required=True, help="why, for the order's history")

    def work(self, options: dict[str, Any]) -> int:
        order_id = find_order(options["id"])
        by = options["by"] or operator_name()
        return self.on_order(
            order_id, lambda: services.compensate(order_id=order_id, by=by, reason=options["reason"])
        )
