"""`manage.py compensate ID --reason TEXT`: compensates a whole order (C10)."""

from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator_command import ActingCommand, find_order, operator_name
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approvals, order_acts
from orders.services.refund_approval import ApprovalNeededError


class Command(ActingCommand):
    help = (
        "Cancel an order: every step that had an effect is reversed, and what was charged is refunded."
        " A refund that needs approval is asked for and not made."
        " Exit codes: 0 done, 1 asked for, or refused, 3 it is already being cancelled, 2 wrong use or no such order."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "id", help="the order's number or id, or a unique part of the id's end or beginning"
        )
        parser.add_argument("--reason", required=True, help="why, for the order's history")

    def work(self, options: dict[str, Any]) -> int:
        order_id = find_order(options["id"])
        actor, reason = Actor(name=options["by"] or operator_name()), options["reason"]

        def compensate_or_ask() -> Result:
            result = order_acts.compensate(order_id=order_id, actor=actor, reason=reason)
            if not isinstance(result.cause, ApprovalNeededError):
                return result
            parameters = {"order_id": str(order_id)}
            asking = approvals.ask(act=result.cause.act, parameters=parameters, actor=actor, reason=reason)
            return Result(status=ResultStatus.REFUSED, message=f"{result.message} {asking.result.message}")

        return self.on_order(order_id, compensate_or_ask)
