"""A hand-over as plain text, for an email, a chat or a terminal. Pure. Times are in UTC."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from orders.fields.money import Money
from orders.selectors.desk.alert_groups import OpenAlerts
from orders.selectors.desk.approvals import ApprovalRow
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.bulk import Progress
from orders.selectors.desk.causes import OpenTime
from orders.selectors.desk.handover import MOST_FIGURES, CauseNote, Handover, OpenCause, Waiting
from orders.selectors.desk.held_agents import HeldAgent
from orders.vocabulary import AlertKind
from orders.wording.alert_words import alert_title
from orders.wording.pauses import ended_pause_lines, pause_lines
from orders.wording.state_labels import BULK_KINDS, BULK_STATES, pill_of
from orders.wording.units import ENGLISH, bounded, counted, duration, money, number


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
    return [line for note in handover.notes for line in (f"{note.by}, {_at(note.at)}:", _indented(note.text))]


def _cause_notes(handover: Handover) -> list[str]:
    lines = [
        f"{note.by}, {_at(note.at)}, on {_name(note)}:\n{_indented(note.text, by=4)}"
        for note in handover.cause_notes
    ]
    return _section("Notes on causes", lines, "none")


def _order_notes(handover: Handover) -> list[str]:
    lines = [
        f"{note.by}, {_at(note.at)}, on order {note.order_id}:\n{_indented(note.text, by=4)}"
        for note in handover.order_notes
    ]
    return _section("Notes on orders", lines, "none")


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
    yield _section("Open now", [_open_cause(cause) for cause in handover.open], "nothing")
    yield _section("Snoozed", [_open_cause(cause) for cause in handover.snoozed], "nothing")
    yield _section("Opened in this period", [_time(time) for time in handover.began], "nothing")
    yield _section("Ended in this period", [_time(time) for time in handover.ended], "nothing")
    if handover.has_more_times:
        yield ["There were more causes than are listed here: the console has their history."]


def _work(handover: Handover) -> Iterator[list[str]]:
    yield _section("Bulk actions", [_bulk(progress) for progress in handover.actions], "none under way")
    yield _section("Agents paused, forced or limited", [_agent(agent) for agent in handover.agents], "none")
    yield _section("Paused now", pause_lines(handover.pauses), "nothing")
    yield _section("Pauses that ended in this period", ended_pause_lines(handover.ended_pauses), "none")
    yield _waiting(handover.waiting)


def _bulk(progress: Progress) -> str:
    action = progress.action
    what = f"{BULK_KINDS.get(action.kind, action.kind)} {counted(action.total, 'order')}"
    state = pill_of(BULK_STATES, action.state).label
    return f"{action.pk}: {what}, by {action.by}: {state}, {progress.ended:,} done, {progress.failed:,} failed again"


def _agent(agent: HeldAgent) -> str:
    until = f" until {_at(agent.until)}" if agent.until else ""
    return f"{agent.name}: {agent.state} by {agent.by or 'nobody named'}{until}{_why(agent.reason)}"


def _waiting(waiting: Waiting) -> list[str]:
    if waiting.is_empty:
        return ["Waiting for people: nothing"]
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


def _orders(order_ids: Sequence[object]) -> list[str]:
    return [f"    order {order_id}" for order_id in order_ids]


def _section(title: str, lines: Sequence[str], nothing: str) -> list[str]:
    return [f"{title}:", *(f"  - {line}" for line in lines)] if lines else [f"{title}: {nothing}"]


def _open_cause(cause: OpenCause) -> str:
    alerts, snooze = cause.alerts, cause.snooze
    size = _orders_of(cause.time) if cause.time else ""
    if alerts.has_orders and (cause.time is None or cause.time.orders != alerts.open):
        size = f"{number(alerts.open)} of {size}" if size else f"{counted(alerts.open, 'order')}, "
    size += _worth(cause)
    text = f"{_name(alerts)}: {size}since {_at(cause.since)}, owner {alerts.group.owner_name or 'nobody'}"
    if alerts.acknowledged:
        text += f", acknowledged by {alerts.acknowledged_by}"
    if snooze is not None:
        grown = f" or {snooze.most} open" if snooze.most else ""
        text += f", snoozed by {snooze.by} until {_at(snooze.until)}{grown}{_why(cause.snooze_reason)}"
    return f"{text}, {alerts.group.ticket_url}" if alerts.group.ticket_url else text


def _size(time: OpenTime) -> str:
    """How many orders it has hit, and their money, with a comma after each; empty if it has hit none."""
    return _orders_of(time) + _worth(time)


def _orders_of(time: OpenTime) -> str:
    verb = " waited" if time.group.kind == AlertKind.OUTAGE else ""
    return f"{counted(time.orders, 'order')}{verb}, " if time.orders else ""


def _worth(of: OpenTime | OpenCause) -> str:
    sums = ", ".join(
        money(Money(amount=amount, currency=code), locale=ENGLISH) for code, amount in of.money.items()
    )
    return f"{'at least ' if of.more_money else ''}{sums}, " if sums else ""


def _time(time: OpenTime) -> str:
    if time.ended_at is None or time.seconds is None:
        return f"{_name(time)}: {_size(time)}since {_at(time.began_at)}, still open"
    ended = f"{time.resolution or 'closed'} by {time.closed_by or 'nobody named'}"
    lasted = f"{_at(time.began_at)} to {_at(time.ended_at)} ({duration(time.seconds)})"
    return f"{_name(time)}: {_size(time)}{lasted}, {ended}"


def _name(cause: OpenAlerts | OpenTime | CauseNote) -> str:
    group = cause.group
    where = f"{group.agent}: " if group.agent else ""
    return f"{alert_title(group.kind, group.code)} – {where}{group.code} ({group.pattern})"


def _indented(text: str, *, by: int = 2) -> str:
    return "\n".join(f"{' ' * by}{line}" for line in text.splitlines())


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
