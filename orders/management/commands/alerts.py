"""`manage.py alerts`: what needs an operator, grouped by its cause (O1)."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator import DONE, ReadingCommand, now, short
from orders.management.tables import duration, number, paragraph, printable
from orders.models.operations import AlertKind
from orders.operations.health import AlertGroup, alert_groups

SHOWN = 12
"""Orders of a group that are named; `--json` names all."""


class Command(ReadingCommand):
    help = "Shows the open alerts, grouped by kind, agent and error code, with their orders."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--all", action="store_true", help="also those that are closed, with who closed them"
        )

    def work(self, options: dict[str, Any]) -> int:
        moment = now()
        groups = alert_groups(closed=options["all"])
        if options["json"]:
            self.show_json({"groups": groups})
            return DONE
        for group in groups:
            head = self.painted("ERROR" if group.open else "SUCCESS", _head(group))
            self.stdout.write("\n".join([head, *_body(group, moment, self.width)]))
            self.stdout.write("")
        opened = sum(group.open for group in groups)
        closed = sum(group.count for group in groups) - opened
        total = (
            f"{number(opened, 'open alert')} of {number(len(groups), 'cause')}"
            if opened
            else "no open alerts"
        )
        self.stdout.write(f"{total}, {closed:,} closed" if options["all"] else total)
        return DONE


def _head(group: AlertGroup) -> str:
    count = number(group.open, "order") if group.open else f"0 open, {group.count} closed"
    agent = f"{group.agent}: " if group.agent else ""
    return printable(f"{count}: {AlertKind(group.kind).label} – {agent}{group.code}")


def _body(group: AlertGroup, moment: datetime, width: int) -> list[str]:
    first, last = (moment - group.first_at).total_seconds(), (moment - group.last_at).total_seconds()
    seen = (
        f"first {duration(first)} ago, last {duration(last)} ago"
        if group.count > 1
        else f"{duration(last)} ago"
    )
    lines = [f"  seen      {seen}"]
    others = f" (the newest; {group.messages - 1} more differ)" if group.messages > 1 else ""
    lines.append(_labelled("message", f"{group.message}{others}", width))
    shown = " ".join(map(short, group.orders[:SHOWN]))
    more = len(group.orders) - SHOWN
    lines.append(_labelled("orders", shown + (f" and {more:,} more" if more > 0 else ""), width))
    for closed, count in group.closed.items():
        lines.append(_labelled("closed", f"{count:,} {closed}", width))
    if group.open:
        lines.append(f"  to do     {_to_do(group)}")
    return lines


def _labelled(label: str, text: str, width: int) -> str:
    return f"  {label:<10}" + paragraph(text, indent=" " * 12, width=width).lstrip()


def _to_do(group: AlertGroup) -> str:
    if group.kind == AlertKind.SET_ASIDE:
        return "mend the cause, then manage.py set_aside replay"
    return f"mend the cause, then manage.py resubmit --all --code {group.code}"
