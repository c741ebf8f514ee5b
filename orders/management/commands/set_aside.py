"""`manage.py set_aside`: the submissions that could not be inserted, and putting them back on the queue (S3)."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator import (
    DONE,
    NOTHING,
    ActingCommand,
    ReadingCommand,
    Stop,
    now,
    operator_name,
    short,
)
from orders.management.tables import Column, Fit, table
from orders.selectors.desk.health import KeptSubmission, set_aside_submissions
from orders.services.audit import Actor
from orders.services.operators import orders as operator_services
from orders.wording.units import counted, duration


class Command(ActingCommand, ReadingCommand):
    help = (
        "Lists the submissions that could not be inserted, or replays them after their cause was mended."
        " Exit codes: 0 done, 3 nothing to do, 2 wrong use."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        ReadingCommand.add_arguments(self, parser)
        parser.add_argument("action", nargs="?", choices=["list", "replay"], default="list")
        parser.add_argument("number", nargs="?", type=int, help="the number that the list shows")
        parser.add_argument("--all", action="store_true", help="replay all that the list shows")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def work(self, options: dict[str, Any]) -> int:
        if options["action"] == "replay":
            return self._replay(options)
        if options["number"] is not None or options["all"]:
            raise Stop("a number and --all go with replay")
        kept = set_aside_submissions()
        if options["json"]:
            self.show_json({"set_aside": kept})
        elif kept:
            self.stdout.write(_table(kept, now(), self.width))
            self.stdout.write("")
            self.stdout.write(
                f"{counted(len(kept), 'submission')} set aside; replay: manage.py set_aside replay N"
            )
        else:
            self.stdout.write("no submission is set aside")
        return DONE

    def _replay(self, options: dict[str, Any]) -> int:
        actor = Actor(name=options["by"] or operator_name())
        if (options["number"] is None) is not options["all"]:
            raise Stop("give the number of one submission, or --all")
        if not options["all"]:
            return self.say(operator_services.replay_set_aside(set_aside_id=options["number"], actor=actor))
        kept = set_aside_submissions()
        if not kept:
            self.stdout.write("no submission is set aside")
            return NOTHING
        self.confirm(f"replay {counted(len(kept), 'submission')}?", yes=options["yes"])
        codes = [
            self.say(operator_services.replay_set_aside(set_aside_id=one.number, actor=actor)) for one in kept
        ]
        self.stdout.write(f"{counted(codes.count(DONE), 'submission')} replayed")
        return DONE if DONE in codes else NOTHING


def _table(kept: list[KeptSubmission], moment: datetime, width: int) -> str:
    columns = (
        Column("N", right=True),
        Column("ORDER"),
        Column("CLIENT", fit=Fit.CUT),
        Column("AGE", right=True),
        Column("REASON", fit=Fit.WRAP),
    )
    rows = [
        (
            one.number,
            short(one.order_id),
            one.client,
            duration((moment - one.set_aside_at).total_seconds()),
            one.reason,
        )
        for one in kept
    ]
    return table(columns, rows, width=width)
