"""`manage.py resubmit ID`, or `resubmit --all --code CODE`: tries failed steps again (O2).

Many orders are resubmitted by a bulk action, as in the console: in waves that begin with one order.
"""

import time
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandParser
from django.urls import reverse

from orders.management.operator_command import (
    DONE,
    NOTHING,
    REFUSED,
    ActingCommand,
    Stop,
    find_order,
    operator_name,
    readable_query,
)
from orders.models import BulkAction
from orders.selectors.database_clock import now
from orders.selectors.desk.alerts import orders_with_alert
from orders.selectors.desk.bulk import Progress, busy_orders, find_action
from orders.selectors.desk.bulk_selection import Selection, orders_of
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.supervisor import retry_limits
from orders.services.audit import Actor
from orders.services.operators import bulk as bulk_services
from orders.services.operators import order_acts
from orders.vocabulary import AlertKind, BulkKind, BulkState
from orders.wording.units import counted

POLL = 1.0
"""Seconds between two checks of a bulk action with --wait."""
NARROWED_BY = ("code", "agent", "kind", "group")
"""The options of --all that select alerts."""


class Command(ActingCommand):
    help = (
        "Try the failed steps of an order in Error again; the order continues from there. With --all, it"
        " starts a bulk action for all orders with an open alert of --code or --group: after 10 seconds, in waves of"
        " 1, 10, 100 and all the rest. Exit codes: 0 done, 1 refused or failed again, 2 wrong use or no such order,"
        " 3 nothing to do."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "id",
            nargs="?",
            help="the order's number or id, or a unique part of the id's beginning or end; with --all: a query",
        )
        parser.add_argument("--step", help="only this step, not all that failed")
        parser.add_argument("--reason", default="", help="why, for the order's history")
        parser.add_argument(
            "--all",
            action="store_true",
            help="every order in Error that matches the query, or with an open alert of --code or --group",
        )
        parser.add_argument("--code", help="the error code of the alerts, as `alerts` shows it")
        parser.add_argument("--agent", help="with --all: only the alerts of this agent")
        parser.add_argument(
            "--kind",
            choices=[kind.value for kind in AlertKind if kind.has_orders],
            help="with --all: only the alerts of this kind",
        )
        parser.add_argument(
            "--group", type=int, help="with --all: only the alerts of this cause, as `alerts` numbers them"
        )
        parser.add_argument(
            "--leave-out-busy",
            action="store_true",
            help="with --all: leave out the orders that another bulk action has, which has not ended",
        )
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        parser.add_argument(
            "--wait", action="store_true", help="with --all: wait for the results and show progress"
        )

    def work(self, options: dict[str, Any]) -> int:
        if options["all"]:
            if options["id"]:
                return self._resubmit_matching(options)
            if options["step"] or not (options["code"] or options["group"]):
                raise Stop("--all needs a query, --code or --group, and takes no --step")
            return self._resubmit_all(options)
        if not options["id"] or options["wait"] or any(options[name] is not None for name in NARROWED_BY):
            raise Stop("give the ID of an order, or --all with --code or --group")
        return self._resubmit_one(options)

    def _resubmit_one(self, options: dict[str, Any]) -> int:
        order_id = find_order(options["id"])
        return self.on_order(
            order_id,
            lambda: order_acts.resubmit(
                order_id=order_id,
                actor=_actor(options),
                reason=options["reason"],
                step=options["step"],
            ),
        )

    def _resubmit_all(self, options: dict[str, Any]) -> int:
        """Starts a bulk action for the orders with such an alert now. Orders that fail later are not part of it."""
        query = {name: options[name] for name in NARROWED_BY if options[name]}
        description = ", ".join(f"{name} {value}" for name, value in query.items())
        order_ids = orders_with_alert(**query, most=bulk_services.MOST)
        if options["leave_out_busy"]:
            busy = busy_orders(order_ids)
            order_ids = [order_id for order_id in order_ids if order_id not in busy]
        if not order_ids:
            self.stdout.write(f"no order has an open alert with {description}")
            return NOTHING
        return self._create(options, order_ids, query=query, selection=f"open alerts with {description}")

    def _create(
        self, options: dict[str, Any], order_ids: list[UUID], *, query: dict[str, Any], selection: str
    ) -> int:
        """Starts the bulk action once it has been confirmed."""
        self._confirm(len(order_ids), yes=options["yes"])
        try:
            action = bulk_services.create(
                kind=BulkKind.RESUBMIT,
                order_ids=order_ids,
                selection=selection,
                query=query,
                actor=_actor(options),
                reason=options["reason"],
                typed_count=len(order_ids),  # it has just been confirmed
            )
        except bulk_services.BusyOrdersError as error:
            raise Stop(f"{error} To leave them out: --leave-out-busy", REFUSED) from error
        except bulk_services.NothingToDoError as error:
            raise Stop(str(error), NOTHING) from error
        except bulk_services.TooManyError as error:
            raise Stop(str(error), REFUSED) from error
        self._report(action)
        return self._wait(action.pk) if options["wait"] else DONE

    def _resubmit_matching(self, options: dict[str, Any]) -> int:
        """Starts a bulk action for the orders in Error that match a query now."""
        if options["step"] or any(options[name] is not None for name in NARROWED_BY):
            raise Stop("--all takes a query or options that select alerts, not both, and no --step")
        selection = Selection(
            kind=BulkKind.RESUBMIT.value, order_filter=OrderFilter(q=readable_query(options["id"]))
        )
        order_ids = orders_of(selection, retry_limits=retry_limits(), now=now())
        if not order_ids:
            self.stdout.write(f"none of these orders is in Error: {selection.description}")
            return NOTHING
        return self._create(options, order_ids, query=selection.query, selection=selection.description)

    def _confirm(self, count: int, *, yes: bool) -> None:
        question = f"Resubmit {counted(count, 'order')}?"
        if bulk_services.needs_count(kind=BulkKind.RESUBMIT, count=count):
            self.confirm_count(question, count, yes=yes)
        else:
            self.confirm(question, yes=yes)

    def _report(self, action: BulkAction) -> None:
        waves = ", ".join(f"{size:,}" for size in action.waves)
        url = settings.CONFIG.public_url + reverse("console:bulk", args=[action.pk])
        grace = f"{bulk_services.GRACE.total_seconds():.0f} seconds"
        self.stdout.write(
            f"Bulk action {action.pk} resubmits {counted(action.total, 'order')}, in waves of {waves}."
            f" It begins in {grace}; until then you can undo it.\n"
            f"Watch, pause or stop it at {url}"
        )

    def _wait(self, action_id: int) -> int:
        """Prints a line whenever something has changed, until the action ends or pauses itself."""
        line = ""
        try:
            while True:
                progress = find_action(action_id, now=now())
                if progress is None:
                    raise Stop(f"bulk action {action_id} no longer exists")
                if line != (line := _progress_line(progress)):
                    self.stdout.write(line)
                    self.stdout.flush()
                if progress.action.state != BulkState.RUNNING:
                    return self._end(progress)
                time.sleep(POLL)
        except KeyboardInterrupt:
            raise Stop("no longer waiting; the bulk action continues") from None

    def _end(self, progress: Progress) -> int:
        action = progress.action
        if action.state == BulkState.PAUSED:
            raise Stop(f"The bulk action is paused. {action.pause_reason}", REFUSED)
        if action.state != BulkState.FINISHED:
            raise Stop(f"The bulk action was {action.state}.", REFUSED if progress.acted else NOTHING)
        if progress.failed:
            return REFUSED
        return DONE if progress.done else NOTHING


def _actor(options: dict[str, Any]) -> Actor:
    return Actor(name=options["by"] or operator_name())


def _progress_line(progress: Progress) -> str:
    action = progress.action
    return (
        f"Wave {action.wave + 1} of {len(action.waves)}: {progress.done:,} done, {progress.failed:,} failed again,"
        f" {progress.nothing:,} with nothing to do, {progress.acted:,} under way, {progress.waiting:,} waiting"
    )
