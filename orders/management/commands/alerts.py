"""`manage.py alerts`: what needs an operator, grouped by its cause (O1)."""

import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator import DONE, ReadingCommand, now, short
from orders.management.tables import paragraph, printable
from orders.models.health import ALERT_KINDS
from orders.selectors.desk.agents import waiting_for
from orders.selectors.desk.health import AlertGroup, alert_groups
from orders.selectors.desk.status_bar import MOST_COUNTED
from orders.vocabulary import AlertKind
from orders.wording.units import bounded, counted, duration

SHOWN = 12
"""Orders of a group that are named; `--json` names all."""
NO_HOST = "no_host"
"""The code of an outage that is only that no process runs the agent."""


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
        waiting = _waiting(groups)
        if options["json"]:
            self.show_json({"groups": groups, "waiting": waiting})
            return DONE
        for group in groups:
            head = self.painted("ERROR" if group.open else "SUCCESS", _head(group, waiting))
            self.stdout.write("\n".join([head, *_body(group, moment, self.width)]))
            self.stdout.write("")
        opened = sum(group.open for group in groups)
        closed = sum(group.count for group in groups) - opened
        total = (
            f"{counted(opened, 'open alert')} of {counted(len(groups), 'cause')}"
            if opened
            else "no open alerts"
        )
        self.stdout.write(f"{total}, {closed:,} closed" if options["all"] else total)
        return DONE


def _waiting(groups: list[AlertGroup]) -> dict[str, int]:
    """How many steps wait for each agent that has an outage now."""
    agents = [group.agent for group in groups if _is_outage(group) and group.open]
    return waiting_for(agents) if agents else {}


def _is_outage(group: AlertGroup) -> bool:
    return group.kind == AlertKind.OUTAGE


def _steps(waiting: int) -> str:
    return f"{bounded(waiting, MOST_COUNTED)} {'step' if waiting == 1 else 'steps'}"


def _head(group: AlertGroup, waiting: Mapping[str, int]) -> str:
    if not group.open:
        count = f"0 open, {group.count} closed"
    elif _is_outage(group):
        count = f"outage, {_steps(waiting[group.agent])} waiting"
    else:
        count = counted(group.open, "order")
    agent = f"{group.agent}: " if group.agent else ""
    return printable(f"{count}: {ALERT_KINDS[AlertKind(group.kind)]} – {agent}{group.code}")


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
    if group.orders:
        shown = " ".join(map(short, group.orders[:SHOWN]))
        more = len(group.orders) - SHOWN
        lines.append(_labelled("orders", shown + (f" and {more:,} more" if more > 0 else ""), width))
    for closed, count in group.closed.items():
        lines.append(_labelled("closed", f"{count:,} {closed}", width))
    if group.open:
        lines.extend(_to_do(group, width))
    return lines


def _labelled(label: str, text: str, width: int) -> str:
    return f"  {label:<10}" + paragraph(text, indent=" " * 12, width=width).lstrip()


def _to_do(group: AlertGroup, width: int) -> list[str]:
    """What helps. A command has a line of its own, however long, so that it can be copied."""
    if _is_outage(group):
        remedy = (
            f"start manage.py run_agents {group.agent}" if group.code == NO_HOST else "nothing to resubmit"
        )
        said = f"{remedy}; what waits goes on by itself when the agent is back, see manage.py agents"
        return [_labelled("to do", said, width)]
    if group.kind == AlertKind.SET_ASIDE:
        return [_labelled("to do", "mend the cause, then manage.py set_aside replay", width)]
    command = ["manage.py", "resubmit", "--all", "--code", group.code]
    if group.agent:
        command += ["--agent", group.agent]
    # The code may be a remote service's word, and this is to be pasted into a shell.
    pasted = printable(shlex.join([*command, "--kind", group.kind]))
    return [_labelled("to do", "mend the cause, then", width), f"{' ' * 12}{pasted}"]
