"""`manage.py orders`: the orders, and where each truly stands."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator import DONE, ReadingCommand, now, short
from orders.management.tables import Column, Fit, paragraph, table
from orders.selectors.desk.limits import tries
from orders.selectors.desk.listing import ListedOrder, Listing, list_orders
from orders.vocabulary import ProcessState
from orders.wording.standings import summary as standing_summary
from orders.wording.units import counted, short_duration


class Command(ReadingCommand):
    help = "Lists orders, newest first: where each stands, at which step, and for the how-manieth time."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--state", choices=list(ProcessState), help="only orders in this state")
        parser.add_argument(
            "--waiting",
            action="store_true",
            help="only orders for which nothing is being done now: they wait for a retry, a customer, a scheduler"
            " or an agent",
        )
        parser.add_argument("--limit", type=int, default=30, help="at most so many orders (default: 30)")

    def work(self, options: dict[str, Any]) -> int:
        moment = now()
        listing = list_orders(
            state=options["state"],
            waiting=options["waiting"],
            limit=max(0, options["limit"]),
            tries=tries(),
            now=moment,
        )
        if options["json"]:
            self.show_json(listing)
            return DONE
        if listing.orders:
            self.stdout.write(self._table(listing.orders, moment))
            self.stdout.write("")
        else:
            asked = options["state"] or options["waiting"]
            self.stdout.write("no such orders" if asked else "no orders yet")
        self.stdout.write(paragraph(summary(listing), width=self.width))
        return DONE

    def _table(self, orders: list[ListedOrder], moment: datetime) -> str:
        columns = (
            Column("ORDER"),
            Column("STATE", fit=Fit.WRAP, least=24, paint=self._colour),
            Column("AGE", right=True),
            Column("STEP", fit=Fit.CUT, least=17),
            Column("ATTEMPT", right=True),
            Column("AGENT", fit=Fit.CUT, least=9),
            Column("FAIL", right=True),
            Column("LOCKED BY", fit=Fit.CUT),
        )
        return table(columns, [_row(order, moment) for order in orders], width=self.width)

    def _colour(self, text: str) -> str:
        if text.startswith(("error", "overdue", "compensation failed")):
            return self.painted("ERROR", text)
        if text.startswith(("retrying", "waiting", "at risk", "compensating", "long wait")):
            return self.painted("WARNING", text)
        return text


def _row(order: ListedOrder, moment: datetime) -> list[object]:
    return [
        short(order.order_id),
        standing_summary(order.standing, now=moment, code=order.code),
        short_duration(order.seconds),
        "\n".join(step.name for step in order.steps) or None,
        "\n".join(str(step.attempt) for step in order.steps) or None,
        "\n".join(step.agent for step in order.steps) or None,
        order.failure_count,
        order.locked_by and order.locked_by.removeprefix("scheduler:"),
    ]


def summary(listing: Listing) -> str:
    """How many orders there are in each state, and what has not become one yet."""
    total = sum(listing.by_state.values())
    states = ", ".join(f"{many:,} {state}" for state, many in listing.by_state.items() if many)
    parts = [f"{counted(total, 'order')}{f': {states}' if states else ''}"]
    if listing.queued:
        parts.append(f"{counted(listing.queued, 'submission')} in the queue")
    if listing.set_aside:
        parts.append(f"{listing.set_aside:,} set aside (manage.py set_aside)")
    if listing.matching > len(listing.orders):
        parts.append(f"shown: {len(listing.orders):,} of {listing.matching:,} that match")
    return "; ".join(parts)
