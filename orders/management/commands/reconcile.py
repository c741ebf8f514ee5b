"""`manage.py reconcile`: what the remote services know that the database does not, and the other way round (F35)."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from orders.business import registry
from orders.management.operator_command import DONE, MISUSED, REFUSED, ReadingCommand, Stop
from orders.management.tables import Column, Fit, paragraph, table
from orders.reconciliation.check import AgentReport, reconcile
from orders.reconciliation.comparison import Discrepancy
from orders.selectors.database_clock import now
from orders.vocabulary import DiscrepancyKind
from orders.wording.discrepancies import TO_DO, headline
from orders.wording.units import counted, short_duration

_LENGTH = re.compile(r"([1-9][0-9]{0,5})([mhd])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Command(ReadingCommand):
    help = (
        "Compare the database with the remote services, after either was restored to an earlier moment, and say what"
        " to do about each discrepancy. Changes nothing, and may run while orders are processed."
        " Exit codes: 0 nothing is wrong, 1 there are discrepancies, 2 a service could not be compared."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--since",
            default="24h",
            metavar="WHEN",
            help="compare what was done since then: 90m, 24h or 7d ago, or an ISO 8601 time (default: 24h)",
        )
        parser.add_argument(
            "--agent",
            action="append",
            choices=registry.agent_names(),
            help="only this agent's service; may be repeated",
        )

    def work(self, options: dict[str, Any]) -> int:
        moment = now()
        since = _since(options["since"], moment)
        agents = registry.make_agents()
        reports = reconcile(
            agents=[agents[name] for name in dict.fromkeys(options["agent"] or agents)],
            workflows=registry.workflows(),
            since=since,
            rate=settings.CONFIG.agent_rate or None,
        )
        discrepancies = [discrepancy for report in reports for discrepancy in report.discrepancies]
        incomplete = [report.agent for report in reports if report.is_incomplete]
        if options["json"]:
            self.show_json({"since": since, "agents": reports})
        else:
            self._show(discrepancies, moment)
            self.stdout.write(self._summary(reports))
            self.stdout.write("")
            total = counted(len(discrepancies), "discrepancy", "discrepancies")
            self.stdout.write(f"{total} in what was done since {since:%Y-%m-%d %H:%M:%S} UTC")
            if incomplete:
                self.stderr.write(f"not compared to the end: {', '.join(incomplete)}")
        if discrepancies:
            return REFUSED
        return MISUSED if incomplete else DONE

    def _show(self, discrepancies: Sequence[Discrepancy], moment: datetime) -> None:
        columns = (
            Column("KEY"),
            Column("AGENT", fit=Fit.CUT, least=9),
            Column("OPERATION", fit=Fit.CUT, least=9),
            Column("AGE", right=True),
        )
        for kind in DiscrepancyKind:
            rows = [
                (each.key, each.agent, each.operation, short_duration((moment - each.at).total_seconds()))
                for each in discrepancies
                if each.kind is kind
            ]
            if rows:
                self.stdout.write(self.styled(headline(kind, len(rows)), "bold red"))
                self.stdout.write(table(columns, rows, width=self.width, coloured=self.is_coloured))
                self.stdout.write(paragraph(f"to do: {TO_DO[kind]}", width=self.width))
                self.stdout.write("")

    def _summary(self, reports: Sequence[AgentReport]) -> str:
        columns = (
            Column("AGENT"),
            Column("EFFECTS", right=True),
            Column("STEPS", right=True),
            Column("DISCREPANCIES", right=True, style=lambda cell: "" if cell == "0" else "bold red"),
            Column("NOT COMPARED", fit=Fit.WRAP, least=40),
        )
        rows = [
            (
                report.agent,
                None if report.effects is None else f"{report.effects:,}",
                None if report.steps is None else f"{report.steps:,}",
                f"{len(report.discrepancies):,}" if report.is_checkable else None,
                "\n".join(_remarks(report)) or None,
            )
            for report in reports
        ]
        return table(columns, rows, width=self.width, coloured=self.is_coloured)


def _remarks(report: AgentReport) -> list[str]:
    """What was not compared of this agent's service, and why."""
    remarks = []
    if report.fault:
        remarks.append(f"could not be compared to the end: {report.fault}")
    if report.is_full:
        remarks.append(f"the rest, after {len(report.discrepancies):,} discrepancies")
    if report.unclear:
        remarks.append(f"{counted(report.unclear, 'step')} that it can say nothing about: {report.reason}")
    if report.foreign:
        remarks.append(f"{counted(report.foreign, 'effect')} under keys that are not ours")
    if report.awaited:
        remarks.append(f"{counted(report.awaited, 'effect')} that orders under way have yet to ask for")
    if not report.is_checkable:
        remarks.append("cannot be compared: the agent can neither list effects nor ask about steps")
    elif report.effects is None:
        remarks.append("effects without an order: the agent cannot list effects")
    elif report.steps is None:
        remarks.append("completed steps: the agent cannot ask about them")
    return remarks


def _since(text: str, moment: datetime) -> datetime:
    """The time that `--since` names. Raises `Stop` if it names none, or one whose orders may have been deleted."""
    length = _LENGTH.fullmatch(text)
    try:
        if length:
            since = moment - timedelta(**{_UNITS[length[2]]: int(length[1])})
        else:
            since = datetime.fromisoformat(text)
            since = since if since.tzinfo else since.replace(tzinfo=moment.tzinfo)
    except (ValueError, OverflowError):
        raise Stop(
            f"--since {text!r} is neither a length such as 90m, 24h or 7d, nor an ISO 8601 time"
        ) from None
    if since >= moment:
        raise Stop("--since takes a time in the past")
    config = settings.CONFIG
    if config.keep_archived:
        days = config.keep_finished + config.keep_archived
        if since < moment - timedelta(days=days):
            raise Stop(
                f"--since goes back further than the {days:g} days for which orders are kept"
                " (KEEP_FINISHED and KEEP_ARCHIVED): effects of deleted orders would look as if they had none"
            )
    return since
