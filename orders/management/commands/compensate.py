"""`manage.py compensate ID --reason TEXT`: has a whole order undone (C10)."""

from typing import Any

from django.core.management.base import CommandParser

from orders.engine.rows import ProcessRow, StepRow
from orders.management.operator import ActingCommand, find_order, operator_name
from orders.services import orders as services
from orders.services.audit import Actor
from orders.services.operators.acts import act_on
from orders.services.orders import Result


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
        actor = Actor(name=options["by"] or operator_name())
        reason = options["reason"]

        def undo(row: ProcessRow, steps: list[StepRow]) -> Result:
            return services.compensate(order_id=order_id, by=actor.name, reason=reason)

        return self.on_order(
            order_id, lambda: act_on("compensate", undo, order_id=order_id, actor=actor, reason=reason)
        )
