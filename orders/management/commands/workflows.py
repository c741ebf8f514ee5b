"""`manage.py workflows`: the versions of each workflow, the orders on them, and in what they differ."""

from collections.abc import Sequence
from typing import Any

from orders.management.operator_command import DONE, REFUSED, ReadingCommand
from orders.management.tables import Column, Fit, table
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.workflow_versions import VersionStatus, versions
from orders.wording.units import bounded


class Command(ReadingCommand):
    help = (
        "Show the versions of each workflow, how many unfinished orders are on each, in what they differ, and which"
        " may be taken out of the next release. Exit code 1 if orders are on a version that this release lacks."
    )

    def work(self, options: dict[str, Any]) -> int:
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
        return "orders are still on it"
    if status.has_processed:
        return "orders that it has processed can still be cancelled; it may go when they are archived"
    return "no order needs it: it may go"


def _style(note: str) -> str:
    return "bold red" if note.startswith("not in this release") else ""
