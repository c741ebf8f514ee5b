"""A hand-over as plain text, for an email, a chat or a terminal. Pure. Times are in UTC, and of the day on which the
range ends unless they have a date."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from uuid import UUID

from orders.fields.order_numbers import spoken_number
from orders.selectors.desk.alert_groups import OpenAlerts
from orders.selectors.desk.approvals import ApprovalRow
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.handover import (
    MOST_FIGURES,
    CauseNote,
    EndedCause,
    Handover,
    OpenCause,
    Waiting,
)
from orders.selectors.desk.held_agents import HeldAgent
from orders.wording.alert_words import alert_title, quoted
from orders.wording.endings import what_was
from orders.wording.handover_lines import bulk_line, ended_lines, nothing_else, open_line, priority_line
from orders.wording.moments import minute
from orders.wording.pauses import ended_pause_lines, pause_lines
from orders.wording.units import bounded, counted, duration


def handover_text(handover: Handover) -> str:
    """The whole hand-over."""
    hours = duration((handover.until - handover.since).total_seconds())
    title = f"Hand-over: {_at(handover.since)} to {_at(handover.until)} UTC ({hours})"
    parts = [
        _notes(handover),
        _figures(handover),
        *_causes(handover),
        _cause_notes(handover),
        _order_notes(handover),
        *_work(handover),
    ]
    return "\n\n".join([title, *("\n".join(part) for part in parts if part)]) + "\n"


def _notes(handover: Handover) -> list[str]:
    today = handover.until.date()
    return [
        line
        for note in handover.notes
        for line in (f"{note.by}, {minute(note.at, today=today)}:", _indented(note.text))
    ]


def _cause_notes(handover: Handover) -> list[str]:
    lines = [
        f"{note.by}, {minute(note.at, today=handover.until.date())}, on {_name(note)}:\n{_indented(note.text, by=4)}"
        for note in handover.cause_notes
    ]
    return _section("Notes on causes", lines)


def _order_notes(handover: Handover) -> list[str]:
    today = handover.until.date()
    lines = [
        f"{note.by}, {minute(note.at, today=today)}, on {_order(note.order_id)}:\n{_indented(note.text, by=4)}"
        for note in handover.order_notes
    ]
    return _section("Notes on orders", lines)


def _figures(handover: Handover) -> list[str]:
    figures = handover.figures
    values = {
        "placed": figures.placed,
        "processed": figures.processed,
        "failed": figures.failed,
        "cancelled": figures.cancelled,
    }
    return [
        "Orders: " + ", ".join(f"{bounded(value, MOST_FIGURES)} {name}" for name, value in values.items())
    ]


def _causes(handover: Handover) -> Iterator[list[str]]:
    yield _section("Open now", [_open_cause(cause, handover) for cause in handover.open], "nothing")
    yield _section("Snoozed", [_open_cause(cause, handover) for cause in handover.snoozed])
    yield _section("Ended", [_ended_cause(cause, handover) for cause in handover.ended_causes], "nothing")
    if handover.has_more_times:
        yield ["There were more causes than are listed here: the console has their history."]


def _open_cause(cause: OpenCause, handover: Handover) -> str:
    today = handover.until.date()
    lines = [f"{_name(cause.alerts)}: {open_line(cause, today=today)}"]
    if cause.alerts.group.ticket_url:
        lines[0] += f", {cause.alerts.group.ticket_url}"
    lines += [f"before, {line}" for line in ended_lines(cause.earlier, today=today)]
    return "\n    ".join(lines)


def _ended_cause(cause: EndedCause, handover: Handover) -> str:
    lines = ended_lines(cause.times, today=handover.until.date())
    return "\n    ".join([f"{_name(cause)}:", *lines]) if len(lines) > 1 else f"{_name(cause)}: {lines[0]}"


def _work(handover: Handover) -> Iterator[list[str]]:
    today = handover.until.date()
    actions = [f"{progress.action.pk}: {bulk_line(progress, today=today)}" for progress in handover.actions]
    changes = [
        f"{_order(change.order_id)}: {priority_line(change, today=today)}"
        for change in handover.priority_changes
    ]
    yield _section("Bulk actions", actions)
    yield _section("Priorities", changes)
    yield _section("Agents paused, forced or limited", [_agent(agent, today) for agent in handover.agents])
    yield _section("Paused now", pause_lines(handover.pauses))
    yield _section("Pauses that ended", ended_pause_lines(handover.ended_pauses, today=today))
    yield _waiting(handover.waiting, but="nothing but what is open now" if handover.open else "nothing")
    yield [text] if (text := nothing_else(handover)) else []


def _agent(agent: HeldAgent, today: date) -> str:
    until = f" until {minute(agent.until, today=today)}" if agent.until else ""
    return f"{agent.name}: {agent.state} by {agent.by or 'nobody named'}{until}{_why(agent.reason)}"


def _waiting(waiting: Waiting, *, but: str) -> list[str]:
    if waiting.is_empty:
        return [f"Waiting for people: {but}"]
    they_were = "it was" if waiting.to_settle == 1 else "they were"
    parts = [
        (waiting.decisions, "decision", "", "", []),
        (
            waiting.to_settle,
            "step to settle",
            "steps to settle",
            f": nobody knows whether {they_were} done",
            _orders(waiting.to_settle_orders),
        ),
        (
            waiting.failed_refunds,
            "refund or other reversal",
            "refunds and other reversals",
            " that failed",
            _orders(waiting.failed_refund_orders),
        ),
        (
            waiting.approvals,
            "request for approval",
            "requests for approval",
            "",
            [_approval(row) for row in waiting.next_approvals],
        ),
    ]
    lines = [
        line
        for count, noun, plural, rest, more in parts
        if count
        for line in (f"  - {counted(count, noun, plural, most=MOST_COUNTED)}{rest}", *more)
    ]
    return ["Waiting for people:", *lines]


def _approval(row: ApprovalRow) -> str:
    request = f"asked for by {row.asked_by} at {_at(row.asked_at)}{_why(row.reason)}"
    return f"    {row.id}: {row.summary} ({row.target}), {request}"


def _why(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _orders(order_ids: Sequence[UUID]) -> list[str]:
    return [f"    {_order(order_id)}" for order_id in order_ids]


def _order(order_id: UUID) -> str:
    return f"order {spoken_number(order_id)} ({order_id})"


def _section(title: str, lines: Sequence[str], nothing: str = "") -> list[str]:
    """A list under a title; without anything to list, what `nothing` says, or no section."""
    if lines:
        return [f"{title}:", *(f"  - {line}" for line in lines)]
    return [f"{title}: {nothing}"] if nothing else []


def _name(cause: OpenAlerts | EndedCause | CauseNote) -> str:
    group = cause.group
    where = f"{group.agent}: " if group.agent else ""
    text = what_was(group) if isinstance(cause, EndedCause) else quoted(group.kind, group.pattern)
    return f"{alert_title(group.kind, group.code)} – {where}{group.code} ({text})"


def _indented(text: str, *, by: int = 2) -> str:
    return "\n".join(f"{' ' * by}{line}" for line in text.splitlines())


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
