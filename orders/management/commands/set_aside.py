"""`manage.py set_aside`: lists the submissions that could not become orders, and replays them (S3)."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator_command import (
    DONE,
    NOTHING,
    ActingCommand,
    ReadingCommand,
    Stop,
    operator_name,
    short,
)
from orders.management.tables import Column, Fit, table
from orders.selectors.database_clock import now
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.set_aside import (
    MOST,
    SetAsideSubmission,
    count_set_aside,
    set_aside_submissions,
)
from orders.services.audit import Actor
from orders.services.operators import order_acts
from orders.wording.units import counted, duration


class Command(ActingCommand, ReadingCommand):
    help = (
        "List the submissions that could not become orders, or replay them once the cause is fixed."
        " Exit codes: 0 done, 3 nothing to do, 2 wrong use."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        ReadingCommand.add_arguments(self, parser)
        parser.add_argument("action", nargs="?", choices=["list", "replay"], default="list")
        parser.add_argument("number", nargs="?", type=int, help="a submission's number, from the list")
        parser.add_argument(
            "--all",
            action="store_true",
            help="replay every submission that is set aside",
        )
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")

    def work(self, options: dict[str, Any]) -> int:
        if options["action"] == "replay":
            return self._replay_all(options) if options["all"] else self._replay(options)
        if options["number"] is not None or options["all"]:
            raise Stop("a number and --all are only for replay")
        page = set_aside_submissions()
        if options["json"]:
            self.show_json({"set_aside": page.items, "has_more": page.has_more})
        elif page.items:
            self.stdout.write(self._table(page.items, now()))
            self.stdout.write("")
            count = counted(count_set_aside(), "submission", most=MOST_COUNTED)
            oldest = f", the oldest {MOST} shown" if page.has_more else ""
            self.stdout.write(f"{count} set aside{oldest}; to replay one: manage.py set_aside replay N")
        else:
            self.stdout.write("no submission is set aside")
        return DONE

    def _replay(self, options: dict[str, Any]) -> int:
        if options["number"] is None:
            raise Stop("give the number of a submission, or --all")
        return self.say(order_acts.replay_set_aside(set_aside_id=options["number"], actor=_actor(options)))

    def _replay_all(self, options: dict[str, Any]) -> int:
        if options["number"] is not None:
            raise Stop("give the number of a submission, or --all")
        count = count_set_aside()
        if not count:
            self.stdout.write("no submission is set aside")
            return NOTHING
        self.confirm(f"replay {counted(count, 'submission', most=MOST_COUNTED)}?", yes=options["yes"])
        codes = [
            self.say(order_acts.replay_set_aside(set_aside_id=submission.number, actor=_actor(options)))
            for submission in islice(_submissions(), count)
        ]
        self.stdout.write(f"{counted(codes.count(DONE), 'submission')} replayed")
        return DONE if DONE in codes else NOTHING

    def _table(self, submissions: Sequence[SetAsideSubmission], moment: datetime) -> str:
        columns = (
            Column("N", right=True),
            Column("ORDER"),
            Column("CLIENT", fit=Fit.CUT),
            Column("AGE", right=True),
            Column("REASON", fit=Fit.WRAP),
        )
        rows = [
            (
                submission.number,
                short(submission.order_id),
                submission.client,
                duration((moment - submission.set_aside_at).total_seconds()),
                submission.reason,
            )
            for submission in submissions
        ]
        return table(columns, rows, width=self.width, coloured=self.is_coloured)


def _actor(options: dict[str, Any]) -> Actor:
    return Actor(name=options["by"] or operator_name())


def _submissions() -> Iterator[SetAsideSubmission]:
    """Every submission that is set aside, oldest first, read page by page."""
    after, has_more = 0, True
    while has_more:
        page = set_aside_submissions(after=after)
        yield from page.items
        after, has_more = page.items[-1].number if page.items else after, page.has_more
