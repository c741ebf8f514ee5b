"""`manage.py workflows`: the versions of each workflow, the orders on them, and in what they differ.

`manage.py workflows move NAME --from 1 --to 2` moves orders from one version to another.
"""

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator_command import (
    DONE,
    NOTHING,
    REFUSED,
    ActingCommand,
    ReadingCommand,
    Stop,
    operator_name,
)
from orders.management.tables import Column, Fit, paragraph, table
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.workflow_versions import VersionStatus, versions
from orders.services.audit import Actor
from orders.services.operators.moving import CannotMoveError, Hindrance, Report, move_orders, preview
from orders.wording.units import bounded, counted

MOST_REASONS = 20
"""The most reasons that are shown for orders that cannot move."""


class Command(ActingCommand, ReadingCommand):
    help = (
        "Show the versions of each workflow, how many unfinished orders are on each, in what they differ, and which"
        " may be taken out of the next release. Exit code 1 if orders are on a version that this release lacks."
        " Or move the unfinished orders of one version to a later one, as the business declares it: without --yes it"
        " only says how many can move, and why others cannot. Exit codes then: 0 every order can move or has moved, 1"
        " some cannot, 2 wrong use, 3 there are none."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        ReadingCommand.add_arguments(self, parser)
        parser.add_argument("action", nargs="?", choices=["list", "move"], default="list")
        parser.add_argument("name", nargs="?", help="with move: the workflow's name")
        parser.add_argument("--from", type=int, dest="old", metavar="VERSION", help="with move: which orders")
        parser.add_argument(
            "--to", type=int, dest="new", metavar="VERSION", help="with move: to which version"
        )
        parser.add_argument("--yes", action="store_true", help="with move: move the orders now")
        parser.add_argument("--reason", default="", help="with move: why, for the orders' history")

    def work(self, options: dict[str, Any]) -> int:
        words = ("name", "old", "new")
        if options["action"] == "move":
            if any(options[word] is None for word in words):
                raise Stop("move needs the NAME of a workflow, --from VERSION and --to VERSION")
            return self._move(options)
        if any(options[word] is not None for word in words) or options["yes"] or options["reason"]:
            raise Stop("a NAME, --from, --to, --yes and --reason are only for move")
        return self._list(options)

    def _move(self, options: dict[str, Any]) -> int:
        journey = {"name": options["name"], "from_version": options["old"], "to_version": options["new"]}
        try:
            if options["yes"]:
                actor = Actor(name=options["by"] or operator_name())
                report = move_orders(**journey, actor=actor, reason=options["reason"])
            else:
                report = preview(**journey)
        except CannotMoveError as error:
            raise Stop(str(error)) from None
        if options["json"]:
            self.show_json(
                {
                    "is_preview": not options["yes"],
                    "changes": report.changes._asdict(),
                    "movable": report.movable,
                    "hindrances": report.hindrances,
                }
            )
        else:
            self._show_report(report, options)
        if report.hindrances:
            return REFUSED
        return DONE if report.movable else NOTHING

    def _show_report(self, report: Report, options: dict[str, Any]) -> None:
        verb = "moved" if options["yes"] else "can move"
        title = f"from version {options['old']} of {options['name']} to version {options['new']}"
        lines = [f"{counted(report.movable, 'order')} {verb} {title}", *_changes(report)]
        for passes, heading in (
            (True, "cannot move now, but may later"),
            (False, f"cannot move, and will finish on version {options['old']}"),
        ):
            hindrances = [item for item in report.hindrances if item.passes is passes]
            if hindrances:
                number = sum(item.number for item in hindrances)
                lines += ["", f"{counted(number, 'order')} {heading}:", *_reasons(hindrances, self.width)]
        if not options["yes"]:
            lines += ["", "Nothing was changed. With --yes the orders move."]
        self.stdout.write("\n".join(lines))

    def _list(self, options: dict[str, Any]) -> int:
        statuses = versions()
        if options["json"]:
            self.show_json([{**vars(status), "may_go": status.may_go} for status in statuses])
        else:
            self.stdout.write(self._table(statuses))
            for status in statuses:
                self._show_changes(status)
        return DONE if all(status.is_declared for status in statuses) else REFUSED

    def _table(self, statuses: Sequence[VersionStatus]) -> str:
        columns = (
            Column("WORKFLOW"),
            Column("VERSION", right=True),
            Column("UNDER WAY", right=True),
            Column("IN ERROR", right=True),
            Column("", fit=Fit.WRAP, least=24, style=_style),
        )
        rows = [
            (
                status.name,
                status.version,
                bounded(status.under_way, MOST_COUNTED),
                bounded(status.in_error, MOST_COUNTED),
                _note(status),
            )
            for status in statuses
        ]
        return table(columns, rows, width=self.width, coloured=self.is_coloured)

    def _show_changes(self, status: VersionStatus) -> None:
        if status.changes:
            self.stdout.write(f"\nin {status.name} version {status.version}:")
            for change in status.changes:
                self.stdout.write(f"  {change}")


def _note(status: VersionStatus) -> str:
    if not status.is_declared:
        return "not in this release: its orders wait"
    if status.is_newest:
        return "new orders take it"
    if status.under_way or status.in_error:
        ways = ", ".join(
            f"workflows move {status.name} --from {status.version} --to {new}" for new in status.moves_to
        )
        return f"orders are still on it; to move them: {ways}" if ways else "orders are still on it"
    if status.has_processed:
        return "orders that it has processed can still be cancelled; it may go when they are archived"
    return "no order needs it: it may go"


def _changes(report: Report) -> list[str]:
    """What a move does to the steps, a line for each kind of change."""
    changes = report.changes
    parts = {
        "kept": changes.same,
        "renamed": [f"{old} to {new}" for old, new in changes.renamed],
        "dropped": changes.dropped,
        "added": changes.added,
    }
    return [f"  steps {kind}: {', '.join(names)}" for kind, names in parts.items() if names]


def _reasons(hindrances: Sequence[Hindrance], width: int) -> list[str]:
    """Why orders cannot move, each reason with the id of one of them."""
    lines = [
        paragraph(f"{item.number:,}: {item.reason}, such as {item.example}", indent="  ", width=width)
        for item in hindrances[:MOST_REASONS]
    ]
    others = len(hindrances) - MOST_REASONS
    return [*lines, f"  … and {counted(others, 'other reason')}"] if others > 0 else lines


def _style(note: str) -> str:
    return "bold red" if note.startswith("not in this release") else ""
