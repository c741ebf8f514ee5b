"""`manage.py erase EMAIL [--dry-run]`: makes everything about one customer anonymous."""

import math
from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator_command import ActingCommand, operator_name
from orders.services.audit import Actor
from orders.services.operators.erasure import erase


class Command(ActingCommand):
    help = (
        "Make everything about one customer anonymous, and keep her orders' amounts."
        " Exit codes: 0 done, 1 an order is not finished, 3 nothing is stored about her."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("email", help="the customer's email")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be erased, and change nothing"
        )
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")

    def work(self, options: dict[str, Any]) -> int:
        email, dry_run = options["email"], options["dry_run"]
        if not dry_run:
            self.confirm(f"Erase everything about {email}? This cannot be taken back.", yes=options["yes"])
        return self.say(
            erase(
                email=email,
                actor=Actor(name=options["by"] or operator_name()),
                dry_run=dry_run,
                seconds=math.inf,
            )
        )
