"""`manage.py order ID`: everything about one order, including where its time went."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from orders.management import order_text
from orders.management.operator_command import DONE, ReadingCommand, Stop, find_order
from orders.selectors.database_clock import now
from orders.selectors.desk.order_detail import order_detail
from orders.selectors.desk.supervisor import retry_limits


class Command(ReadingCommand):
    help = (
        "Show one order: where it stands, its steps, its open alert, where its time went, and its timeline."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "id", help="the order's number or id, or a unique part of the id's end or beginning"
        )

    def work(self, options: dict[str, Any]) -> int:
        order_id = find_order(options["id"])
        moment: datetime = now()
        limits = retry_limits()
        detail = order_detail(order_id, retry_limits=limits, now=moment)
        if detail is None:
            raise Stop(f"{order_id}: no such order")
        if options["json"]:
            self.show_json(detail)
        else:
            self.stdout.write(order_text.describe(detail, retry_limits=limits, now=moment, width=self.width))
        return DONE
