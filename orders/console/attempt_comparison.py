"""Two attempts of one step side by side: what was asked, what was answered, and how each went."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orders.selectors.desk.attempts import Attempt
from orders.selectors.desk.history import EventFacts
from orders.vocabulary import EventKind
from orders.wording.attempts import ATTEMPTS, attempt_title
from orders.wording.events import error_text, shorten
from orders.wording.units import counted, duration

DIFFERS_ALWAYS = frozenset({"date"})
"""Headers that differ between any two calls, so their difference says nothing."""


@dataclass(frozen=True, kw_only=True)
class ComparisonRow:
    """One thing of both attempts, as text; empty where it is not known."""

    label: str
    first: str
    second: str
    can_differ: bool = True

    @property
    def differs(self) -> bool:
        """Whether the attempts differ in it, as far as that says something."""
        return self.can_differ and self.first != self.second


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two attempts, the earlier one first."""

    first: Attempt
    second: Attempt
    rows: Sequence[ComparisonRow]

    @property
    def titles(self) -> tuple[str, str]:
        """Their names."""
        return _title(self.first), _title(self.second)


def comparison(
    query: Mapping[str, str], every_attempt: Sequence[Attempt], events: Sequence[EventFacts]
) -> Comparison | None:
    """What a url compares: the attempts `attempt` and `with` of `step`; None if it names no two of them."""
    numbers = sorted({query.get("attempt", ""), query.get("with", "")}, key=lambda text: (len(text), text))
    pair = [
        attempt
        for number in numbers
        for attempt in every_attempt
        if attempt.step == query.get("step") and str(attempt.number) == number
    ]
    if len(pair) != 2:
        return None
    first, second = pair
    rows = [row for row in _rows(first, second, events) if row.first or row.second]
    return Comparison(first=first, second=second, rows=rows)


def _title(attempt: Attempt) -> str:
    return attempt_title(attempt.step, attempt.number, reversal=attempt.reversal)


def _rows(first: Attempt, second: Attempt, events: Sequence[EventFacts]) -> Iterator[ComparisonRow]:
    def row(label: str, text: Any, *, can_differ: bool = True) -> ComparisonRow:
        return ComparisonRow(label=label, first=text(first), second=text(second), can_differ=can_differ)

    yield row("Outcome", lambda attempt: ATTEMPTS[attempt.outcome].label)
    yield row("Error", _error)
    yield row("Took", _took, can_differ=False)
    yield row("Idempotency key", lambda attempt: attempt.key)
    yield row("Failed calls", lambda attempt: counted(len(attempt.failed_calls), "call"))
    yield row("Called by", _caller)
    yield from _edits(first, second, events)
    yield row("Request", lambda attempt: _of_exchange(attempt, "method", "path"))
    yield row("Answer", _status)
    for side, label in (("sent", "Sent"), ("answered", "Answered")):
        names = sorted({*_headers(first, side), *_headers(second, side)}, key=str.lower)
        for name in names:
            yield ComparisonRow(
                label=f"{label} {name}",
                first=_headers(first, side).get(name, ""),
                second=_headers(second, side).get(name, ""),
                can_differ=name.lower() not in DIFFERS_ALWAYS,
            )


def _error(attempt: Attempt) -> str:
    ending = attempt.ending
    own = error_text(ending.detail.get("error")) if ending else ""
    return own or (error_text(attempt.failed_calls[-1].detail) if attempt.failed_calls else "")


def _took(attempt: Attempt) -> str:
    return "under way" if attempt.seconds is None else duration(attempt.seconds)


def _caller(attempt: Attempt) -> str:
    """The process that made its calls, if it has said so."""
    if attempt.ending and "instance" in attempt.ending.detail:
        return str(attempt.ending.detail["instance"])
    return attempt.failed_calls[-1].actor_name if attempt.failed_calls else ""


def _exchange(attempt: Attempt) -> Mapping[str, Any]:
    """The last call that got an answer."""
    of = [event.detail["exchange"] for event in attempt.events if event.detail.get("exchange")]
    return of[-1] if of else {}


def _of_exchange(attempt: Attempt, *names: str) -> str:
    exchange = _exchange(attempt)
    return " ".join(str(exchange[name]) for name in names if name in exchange)


def _status(attempt: Attempt) -> str:
    status = _of_exchange(attempt, "status")
    return f"HTTP {status}" if status else ""


def _headers(attempt: Attempt, side: str) -> Mapping[str, str]:
    return dict(_exchange(attempt).get(side) or {})


def _edits(first: Attempt, second: Attempt, events: Sequence[EventFacts]) -> Iterator[ComparisonRow]:
    """The fields of the step's request that somebody edited between the two."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for event in events:
        steps = event.detail.get("steps") or ()
        is_of_step = event.kind == EventKind.EDITED and first.step in (event.step, *steps)
        if is_of_step and first.began <= event.at <= second.began:
            before = {**(event.detail.get("before") or {}), **before}
            after |= event.detail.get("after") or {}
    for name in sorted(after):
        yield ComparisonRow(
            label=f"Asked for {name}", first=_json(before.get(name)), second=_json(after[name])
        )


def _json(value: Any) -> str:
    return shorten(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1))
