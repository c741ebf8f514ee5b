"""`manage.py resubmit ID`, or `resubmit --all --code CODE [--agent NAME]`: has what failed tried again (O2)."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from orders.management.operator import (
    DONE,
    NOTHING,
    REFUSED,
    ActingCommand,
    Stop,
    find_order,
    operator_name,
)
from orders.selectors.desk.alerts import orders_with_alert
from orders.services.audit import Actor
from orders.services.operators import orders as operator_services
from orders.vocabulary import AlertKind
from orders.wording.units import counted


class Command(ActingCommand):
    help = (
        "Has the failed steps of an order in Error tried again, and processing go on from there."
        " Exit codes: 0 done, 3 nothing to do, 1 refused, 2 wrong use or no such order."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", nargs="?", help="the order's id, or a unique part of its beginning or end")
        parser.add_argument("--step", help="only this step, not all that failed")
        parser.add_argument("--reason", default="", help="why, for the order's history")
        parser.add_argument("--all", action="store_true", help="every order with an open alert of --code")
        parser.add_argument("--code", help="the error code of the alerts, as `alerts` shows it")
        parser.add_argument("--agent", help="with --all: only the alerts of this agent")
        parser.add_argument(
            "--kind",
            choices=[kind.value for kind in AlertKind if kind != AlertKind.OUTAGE],
            help="with --all: only the alerts of this kind",
        )
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def work(self, options: dict[str, Any]) -> int:
        if options["all"]:
            if options["id"] or options["step"] or not options["code"]:
                raise Stop("--all goes with --code, and with no ID or --step")
            return self._many(options)
        if not options["id"] or any(options[name] is not None for name in ("code", "agent", "kind")):
            raise Stop("give the ID of an order, or --all --code CODE")
        order_id = find_order(options["id"])
        return self._resubmit(order_id, options)

    def _resubmit(self, order_id: UUID, options: dict[str, Any]) -> int:
        return self.on_order(
            order_id,
            lambda: operator_services.resubmit_now(
                order_id=order_id,
                actor=Actor(name=options["by"] or operator_name()),
                reason=options["reason"],
                step=options["step"],
            ),
        )

    def _many(self, options: dict[str, Any]) -> int:
        """Those with an open alert now; what fails while they are resubmitted stays for the next time."""
        order_ids = orders_with_alert(options["code"], agent=options["agent"], kind=options["kind"])
        if not order_ids:
            where = "".join(f", {name} {options[name]}" for name in ("agent", "kind") if options[name])
            self.stdout.write(f"no order has an open alert with the code {options['code']}{where}")
            return NOTHING
        self.confirm(f"resubmit {counted(len(order_ids), 'order')}?", yes=options["yes"])
        came_of: Counter[int] = Counter()
        for order_id in order_ids:
            try:
                came_of[self._resubmit(order_id, options)] += 1
            except Stop as stop:
                self.stderr.write(stop.said)
                came_of[REFUSED] += 1
        self.stdout.write(
            f"{counted(came_of[DONE], 'order')} resubmitted, {came_of[NOTHING]} with nothing to do,"
            f" {came_of[REFUSED]} refused"
        )
        return REFUSED if came_of[REFUSED] else DONE if came_of[DONE] else NOTHING
