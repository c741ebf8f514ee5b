"""What an alert is about, in the same words on pages, in emails and in commands."""

from collections.abc import Mapping

from orders.fields.money import Money
from orders.vocabulary import AlertKind
from orders.wording.state_labels import ALERT_KINDS
from orders.wording.units import english_money

SPECIAL: Mapping[tuple[str, str], str] = {
    (AlertKind.STALLED, "undelivered"): "alerts have not been delivered",
    (AlertKind.STALLED, "no_sweep"): "the supervisor does not sweep",
    (AlertKind.STALLED, "no_process"): "no process of a role is running",
    (AlertKind.STALLED, "not_taken"): "the first message of a queue is not taken",
    (AlertKind.STALLED, "disk_nearly_full"): "a disk is nearly full",
    (AlertKind.STALLED, "database_nearly_full"): "the database has little room left",
    (AlertKind.STALLED, "part_failed"): "a part of retention fails",
    (AlertKind.STALLED, "quarantined"): "an agent host is quarantined",
    (AlertKind.STALLED, "slow"): "the database is slow",
    (AlertKind.STALLED, "slow_order"): "an order takes longer than a transaction may",
}
"""What the kind alone would say wrongly: the kind and the code, and what is the matter."""


def alert_title(kind: str, code: str) -> str:
    """What kind of thing an alert is about, as the rest of a sentence."""
    return SPECIAL.get((kind, code)) or ALERT_KINDS.get(kind, kind)


def alert_text(kind: str, message: str) -> str:
    """An alert's message. That of a refund that failed would otherwise read like that of a payment that failed."""
    return f"Cancellation failed: {message}" if kind == AlertKind.COMPENSATION_FAILED else message


def alert_heading(kind: str, message: str) -> str:
    """An alert's message as the heading of its cause."""
    return alert_text(kind, quoted(kind, message))


def quoted(kind: str, message: str) -> str:
    """An alert's message, in quotation marks if a step failed with it: then most are what a remote service said."""
    return f"“{message}”" if kind in (AlertKind.STEP_FAILED, AlertKind.COMPENSATION_FAILED) else message


def pattern_text(pattern: str) -> str:
    """A pattern as a sentence shows it: without the clauses in which "…" stands for what differs between orders, or as
    it is if that leaves nothing. "It did not answer, … times; its last call: no answer within … s" is "It did not
    answer"."""
    clauses = [_without_variables(clause) for clause in pattern.split("; ")]
    return "; ".join(filter(None, clauses)) or pattern


def _without_variables(clause: str) -> str:
    plain, dots, _rest = clause.partition("…")
    return plain.rpartition(", ")[0] if dots else clause


def worth_in_words(sums: Mapping[str, int], *, more: bool) -> str:
    """What orders are worth, from minor units by currency: "at least €1,521.00, £40.00" if not all of them are added
    up; empty for nothing."""
    text = ", ".join(english_money(Money(amount=amount, currency=code)) for code, amount in sums.items())
    return f"at least {text}" if text and more else text
