"""A hand-over as plain text, for an email, a chat or a terminal. Pure. Times are in UTC."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from orders.fields.money import Money
from orders.selectors.desk.alert_groups import OpenAlerts
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.causes import OpenTime
from orders.selectors.desk.handover import MOST_FIGURES, Handover, OpenCause
from orders.vocabulary import AlertKind
from orders.wording.state_labels import ALERT_KINDS
from orders.wording.units import ENGLISH, bounded, counted, duration, money


def handover_text(handover: Handover) -> str:
    """The whole hand-over."""
    hours = duration((handover.until - handover.since).total_seconds())
    title = f"Hand-over: {_at(handover.since)} to {_at(handover.until)} UTC ({hours})"
    parts = [_notes(handover), _figures(handover), *_causes(handover), *_work(handover)]
    return "\n\n".join([title, *("\n".join(part) for part in parts if part)]) + "\n"


def _notes(handover: Handover) -> list[str]:
    return [line for note in handover.notes for line in (f"{note.by}, {_at(note.at)}:", _indented(note.text))]


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
    yield _section("Opened in this time", [_time(time) for time in handover.began], "nothing")
    yield _section("Ended in this time", [_time(time) for time in handover.ended], "nothing")
    if handover.has_more_times:
        yield ["There were more causes than are listed here: the console has their history."]


def _work(handover: Handover) -> Iterator[list[str]]:
    actions = [
        f"#{progress.action.pk} {progress.action.kind} by {progress.action.by}: {progress.action.state},"
        f" {progress.ended:,} of {counted(progress.action.total, 'order')}, {progress.failed:,} failed again"
        for progress in handover.actions
    ]
    yield _section("Bulk actions", actions, "none under way")
    agents = [
        f"{agent.name}: {agent.state} by {agent.by or 'an operator'}"
        f"{f' until {_at(agent.until)}' if agent.until else ''}{f' ({agent.reason})' if agent.reason else ''}"
        for agent in handover.agents
    ]
    yield _section("Agents held by people", agents, "none")
    waiting = handover.waiting
    yield [
        "Waiting for people:",
        f"  {counted(waiting.decisions, 'decision', most=1_000)}",
        f"  {counted(waiting.to_settle, 'step', most=MOST_COUNTED)} to settle",
        *_orders(waiting.to_settle_orders),
        f"  {counted(waiting.failed_refunds, 'refund', most=MOST_COUNTED)} or other reversals that failed",
        *_orders(waiting.failed_refund_orders),
    ]


def _orders(order_ids: Sequence[object]) -> list[str]:
    return [f"    order {order_id}" for order_id in order_ids]


def _section(title: str, lines: Sequence[str], nothing: str) -> list[str]:
    return [f"{title}:", *(f"  - {line}" for line in lines)] if lines else [f"{title}: {nothing}"]


def _open_cause(cause: OpenCause) -> str:
    alerts, snooze = cause.alerts, cause.snooze
    orders = f"{counted(alerts.open, 'order')}, " if alerts.has_orders else ""
    text = (
        f"{_name(alerts)}: {orders}since {_at(alerts.first_at)}, owner {alerts.group.owner_name or 'nobody'}"
    )
    if snooze is not None:
        grown = f" or {snooze.most} open" if snooze.most else ""
        text += f", snoozed by {snooze.by} until {_at(snooze.until)}{grown}"
    return f"{text}, {alerts.group.ticket_url}" if alerts.group.ticket_url else text


def _time(time: OpenTime) -> str:
    orders = f"{counted(time.orders, 'order')}, " if time.orders else ""
    sums = ", ".join(
        money(Money(amount=amount, currency=code), locale=ENGLISH) for code, amount in time.money.items()
    )
    worth = f"{'at least ' if time.more_money else ''}{sums}, " if sums else ""
    if time.ended_at is None:
        return f"{_name(time)}: {orders}{worth}since {_at(time.began_at)}, still open"
    ended = f"{time.resolution or 'closed'}{f' by {time.closed_by}' if time.closed_by else ''}"
    return f"{_name(time)}: {orders}{worth}{_at(time.began_at)} to {_at(time.ended_at)}, {ended}"


def _name(cause: OpenAlerts | OpenTime) -> str:
    group = cause.group
    where = f"{group.agent}: " if group.agent else ""
    return f"{ALERT_KINDS[AlertKind(group.kind)]} – {where}{group.code} ({group.pattern[:80]})"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
