"""`manage.py alerts`: what needs an operator, grouped by cause (O1)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from orders.management.operator_command import DONE, ReadingCommand, limit_of, short
from orders.management.tables import paragraph
from orders.models import AlertGroup
from orders.selectors.database_clock import now
from orders.selectors.desk.alert_groups import (
    MOST_GROUPS,
    ClosedAlerts,
    GroupSummary,
    closed_alerts,
    group_summaries,
)
from orders.selectors.desk.alerts import newest_orders_of_groups
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.snoozes import snooze_of
from orders.vocabulary import AlertKind
from orders.wording.alert_words import alert_title
from orders.wording.endings import resolution_in_words
from orders.wording.runbooks import advice_of, advise, against_resubmitting, find_runbook
from orders.wording.units import bounded, counted, duration

SHOWN = 12
"""The most orders listed for a group; `--json` lists up to `MOST_COUNTED`."""
NO_HOST = "no_host"
"""The code of an outage in which no process runs the agent."""


class Command(ReadingCommand):
    help = (
        "Show the open alerts by cause, which is the kind, agent, error code and message pattern as in the console:"
        " causes that nobody has acknowledged first, then the largest."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--all", action="store_true", help="also show how closed alerts were resolved")
        parser.add_argument(
            "--limit",
            type=int,
            default=MOST_GROUPS,
            help=f"show at most this many causes (default: {MOST_GROUPS})",
        )

    def work(self, options: dict[str, Any]) -> int:
        moment, most = now(), limit_of(options)
        groups, count = group_summaries(now=moment, most=most)
        closed = closed_alerts(most=most) if options["all"] else []
        most_orders = MOST_COUNTED if options["json"] else SHOWN
        orders = newest_orders_of_groups([group.group.pk for group in groups], most=most_orders)
        if options["json"]:
            self.show_json(_plain(groups, closed, orders))
            return DONE
        resolved = {alerts.group.pk: alerts for alerts in closed}
        for group in groups:
            lines = _open_lines(group, orders[group.group.pk], moment, self.width)
            lines += _closed_lines(resolved.pop(group.group.pk, None), self.width)
            self._show(_head(group), "bold red", [*lines, *_to_do(group, self.width)])
        for alerts in resolved.values():
            head = f"0 open, {bounded(alerts.count, MOST_COUNTED)} closed: {_cause(alerts.group)}"
            self._show(
                head, "green", [_pattern(alerts.group, self.width), *_closed_lines(alerts, self.width)]
            )
        self.stdout.write(_total(groups, count, closed if options["all"] else None))
        return DONE

    def _show(self, head: str, style: str, lines: Sequence[str]) -> None:
        self.stdout.write("\n".join([self.styled(head, style), *lines]))
        self.stdout.write("")


def _total(groups: Sequence[GroupSummary], count: int, closed: Sequence[ClosedAlerts] | None) -> str:
    if len(groups) < count:
        total = f"the first {len(groups)} of {counted(count, 'cause')}"
    elif groups:
        total = f"{counted(sum(group.open for group in groups), 'open alert')} of {counted(count, 'cause')}"
    else:
        total = "no open alerts"
    return total if closed is None else f"{total}, {sum(alerts.count for alerts in closed):,} closed"


def _head(group: GroupSummary) -> str:
    if group.is_outage:
        steps = counted(group.waiting, "step", most=MOST_COUNTED)
        return f"outage, {steps} waiting: {_cause(group.group)}"
    if not group.has_orders:
        return f"{_cause(group.group)}; no order is in Error"
    return f"{counted(group.open, 'order')}: {_cause(group.group)}"


def _cause(group: AlertGroup) -> str:
    agent = f"{group.agent}: " if group.agent else ""
    return f"{alert_title(group.kind, group.code)} – {agent}{group.code}"


def _open_lines(group: GroupSummary, orders: Sequence[UUID], moment: datetime, width: int) -> list[str]:
    first, last = (moment - group.first_seen).total_seconds(), (moment - group.last_seen).total_seconds()
    seen = (
        f"first {duration(first)} ago, last {duration(last)} ago"
        if group.first_seen < group.last_seen
        else f"{duration(last)} ago"
    )
    lines = [_labelled("seen", seen, width), _pattern(group.group, width)]
    if group.message != group.group.pattern:
        lines.append(_labelled("message", f"{group.message} (the newest)", width))
    if orders:
        more = group.open - SHOWN
        names = " ".join(map(short, orders[:SHOWN]))
        lines.append(_labelled("orders", names + (f" and {more:,} more" if more > 0 else ""), width))
    if group.acknowledged_at:
        since = duration((moment - group.acknowledged_at).total_seconds())
        lines.append(_labelled("acknowledged", f"by {group.acknowledged_by}, {since} ago", width))
    return lines + [_labelled(*line, width) for line in _desk_lines(group, moment)]


def _desk_lines(group: GroupSummary, moment: datetime) -> Iterator[tuple[str, str]]:
    """Who owns a group, its ticket, and until when it is snoozed."""
    cause = group.group
    if cause.owner_name and cause.owned_at:
        yield "owner", f"{cause.owner_name}, for {duration((moment - cause.owned_at).total_seconds())}"
    if cause.ticket_url:
        yield "ticket", cause.ticket_url
    if snooze := snooze_of(cause, count=group.open, now=moment):
        grown = f", or until {snooze.most:,} orders are open" if snooze.most else ""
        back = duration((snooze.until - moment).total_seconds())
        yield "snoozed", f"by {snooze.by} for another {back}{grown}"


def _pattern(group: AlertGroup, width: int) -> str:
    return _labelled("pattern", group.pattern, width)


def _closed_lines(alerts: ClosedAlerts | None, width: int) -> list[str]:
    by_resolution = alerts.by_resolution if alerts else {}
    return [
        _labelled("closed", f"{count:,} {resolution_in_words(how, by)}", width)
        for (how, by), count in by_resolution.items()
    ]


def _labelled(label: str, text: str, width: int) -> str:
    return f"  {label:<9} " + paragraph(text, indent=" " * 12, width=width).lstrip()


def _to_do(group: GroupSummary, width: int) -> list[str]:
    """The remedy. A command has its own line, however long, so that it can be copied."""
    if group.is_outage:
        remedy = (
            f"start manage.py run_agents {group.group.agent}"
            if group.group.code == NO_HOST
            else "nothing to resubmit"
        )
        advice = (
            f"{remedy}; waiting steps continue automatically when the agent is back, see manage.py agents"
        )
        return [_labelled("to do", advice, width)]
    if not group.has_orders:
        return [_labelled("to do", advise(kind=group.group.kind, code=group.group.code), width)]
    if group.group.kind == AlertKind.SET_ASIDE:
        return [_labelled("to do", "fix the cause, then run manage.py set_aside replay", width)]
    command = f"manage.py resubmit --all --group {group.group.pk}"
    return [_labelled("to do", _before_resubmitting(group), width), f"{' ' * 12}{command}"]


def _before_resubmitting(group: GroupSummary) -> str:
    """What is to be done first. If resubmitting alone may not help, what the page of the cause advises instead."""
    cause = group.group
    runbook = find_runbook(kind=cause.kind, code=cause.code, agent=cause.agent)
    against = against_resubmitting(advice_of(runbook, step=group.step), agent=cause.agent)
    if runbook is None or not against:
        return "fix the cause, then run"
    return f"{runbook.todo} {against} To resubmit all as they are, run"


def _plain(
    groups: Sequence[GroupSummary], closed: Sequence[ClosedAlerts], orders: Mapping[int, Sequence[UUID]]
) -> dict[str, Any]:
    """The output for scripts."""
    resolved = {alerts.group.pk: alerts for alerts in closed}
    shown = [
        _plain_cause(group.group)
        | {
            "open": group.open,
            "first_at": group.first_at,
            "last_at": group.last_at,
            "message": group.message,
            "acknowledged_at": group.acknowledged_at,
            "acknowledged_by": group.acknowledged_by,
            "orders": orders[group.group.pk],
            "closed": _resolutions(resolved.pop(group.group.pk, None)),
        }
        for group in groups
    ]
    shown += [
        _plain_cause(alerts.group) | {"open": 0, "orders": [], "closed": _resolutions(alerts)}
        for alerts in resolved.values()
    ]
    waiting = {group.group.agent: group.waiting for group in groups if group.is_outage}
    return {"groups": shown, "waiting": waiting}


def _plain_cause(group: AlertGroup) -> dict[str, Any]:
    return {
        "id": group.pk,
        "kind": group.kind,
        "agent": group.agent,
        "code": group.code,
        "pattern": group.pattern,
        "owner": group.owner_name,
        "ticket_url": group.ticket_url,
        "snoozed_by": group.snoozed_by,
        "snoozed_until": group.snoozed_until,
    }


def _resolutions(alerts: ClosedAlerts | None) -> Mapping[str, int]:
    """The output for scripts."""
    by_resolution = alerts.by_resolution if alerts else {}
    return {f"{how} by {by}": count for (how, by), count in by_resolution.items()}
