"""Conditions in words: "in state error", "that do not wait for carrier". Pure."""

import re
from collections.abc import Callable, Mapping

from orders.selectors.desk.query import Condition
from orders.selectors.desk.query_fields import ANYTHING, NO, YES
from orders.selectors.desk.query_values import amount_in_words, read_amounts

_RANGE = re.compile(r"(>=|<=|>|<)?(.+)", re.DOTALL)
_AGO = re.compile(r"\d{1,5}\s?(s|m|min|h|d)")
_AMOUNTS = {">": "over", ">=": "of at least", "<": "under", "<=": "of at most", None: "of"}
_NUMBERS = {">": "over", ">=": "at least", "<": "under", "<=": "at most", None: ""}
_COUNTS = {">": "more than", ">=": "at least", "<": "fewer than", "<=": "at most", None: ""}

_PHRASES: Mapping[str, tuple[str, str]] = {
    "state": ("in state {}", "not in state {}"),
    "standing": ("with standing {}", "without standing {}"),
    "step": ("at step {}", "not at step {}"),
    "agent": ("at agent {}", "not at agent {}"),
    "waiting": ("that wait for {}", "that do not wait for {}"),
    "error": ("with an open alert {}", "without an open alert {}"),
    "owner": ("with an alert whose cause {} owns", "without an alert whose cause {} owns"),
    "acknowledged": (
        "with an alert whose cause {} has acknowledged",
        "without an alert whose cause {} has acknowledged",
    ),
    "workflow": ("of workflow {}", "not of workflow {}"),
    "priority": ("of priority {}", "not of priority {}"),
    "failures": ("with {} failures", "without {} failures"),
    "attempts": ("with {} attempts at a step", "without {} attempts at a step"),
    "promise": ("later than promised", "not later than promised"),
    "since": ("placed since {}", "placed before {}"),
    "until": ("placed until {}", "placed after {}"),
    "placed": ("placed {}", "not placed {}"),
    "age": ("{}", "not {}"),
    "customer": ("of customer {}", "not of customer {}"),
    "account": ("of account {}", "not of account {}"),
    "email": ("with email {}", "without email {}"),
    "total": ("with a total {}", "without a total {}"),
    "sku": ("with SKU {}", "without SKU {}"),
    "title": ("with {} in a title", "without {} in a title"),
    "subject": ("about {}", "not about {}"),
    "reference": ("with reference {}", "without reference {}"),
    "attribute": ("with attribute {}", "without attribute {}"),
    "number": ("with number {}", "without number {}"),
    "id": ("with ID {}", "without ID {}"),
    "paused": ("that are paused", "that are not paused"),
    "archived": ("in the archive", "not in the archive"),
}


def phrase(condition: Condition) -> str:
    """A condition as it stands behind "orders"."""
    is_negated = condition.negated
    values = [_WRITTEN.get(condition.name, str)(word) for word in condition.words]
    if condition.name == "waiting" and ANYTHING in condition.values:
        return "that do not wait" if is_negated else "that wait"
    if condition.name == "paused" and not {YES, NO} & set(condition.values):
        step = " or ".join(values)
        return (
            f"that do not wait at the paused step {step}"
            if is_negated
            else f"that wait at the paused step {step}"
        )
    if condition.name in ("archived", "paused"):
        is_negated = is_negated != (YES not in condition.values)
    sentence = _PHRASES[condition.name][is_negated]
    if condition.values == ("1",):
        sentence = sentence.replace("failures", "failure").replace("attempts", "attempt")
    return sentence.format(" or ".join(values))


def _range(words: Mapping[str | None, str], say: Callable[[str], str] = str) -> Callable[[str], str]:
    def written(value: str) -> str:
        low, dots, high = value.partition("..")
        if dots and low and high:
            return f"{words[None]} {say(low)} to {say(high)}".strip()
        match = _RANGE.fullmatch(f">={low}" if dots and low else f"<={high}" if dots else value)
        assert match is not None  # a value is never empty
        return f"{words[match[1]]} {say(match[2])}".strip()

    return written


def _total(value: str) -> str:
    currency = read_amounts(value).currency
    words = _range(_AMOUNTS, lambda part: amount_in_words(part, currency))(value)
    return words if currency else f"{words} in any currency"


def _age(value: str) -> str:
    low, dots, high = value.partition("..")
    if dots and low and high:
        return f"between {low} and {high} old"
    is_younger = value.startswith("<") or (dots and not low)
    return f"{'younger' if is_younger else 'older'} than {value.strip('<>=.')}"


def _time(value: str) -> str:
    first, dots, last = value.partition("..")
    if dots:
        return " ".join(
            part for part in (first and f"from {_time(first)}", last and f"to {_time(last)}") if part
        )
    return f"{value} ago" if _AGO.fullmatch(value) else value


_WRITTEN: Mapping[str, Callable[[str], str]] = {
    "standing": lambda value: value.replace("_", " "),
    "priority": _range(_NUMBERS),
    "failures": _range(_COUNTS),
    "attempts": _range(_COUNTS),
    "total": _total,
    "age": _age,
    "since": _time,
    "until": _time,
    "placed": _time,
}
