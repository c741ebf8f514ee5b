"""The fields of the query language: what each selects, and which values it takes. Pure.

docs/operations.md has them as a table, and `tests/architecture` compares both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

from orders.fields.order_numbers import EXAMPLE, MISTAKEN, MistakenNumberError, read_number
from orders.selectors.desk.query_values import (
    DAYS,
    BadValueError,
    read_ages,
    read_amounts,
    read_numbers,
    read_times,
)
from orders.selectors.desk.standing import StandingKind
from orders.vocabulary import ProcessState

ANYTHING = "anything"
"""What `waiting:` takes for all that only wait. `1` is how urls of earlier releases say it."""
NAMED_DAYS = ("today", "yesterday", *DAYS)
YES, NO, LATE = "yes", "no", "late"

STANDINGS: Mapping[str, StandingKind] = {kind.value.replace(" ", "_"): kind for kind in StandingKind}
STATE_WORDS: Mapping[str, str] = {ProcessState.COMPENSATED.value: "cancelled"}
STANDING_WORDS: Mapping[str, str] = {
    "compensation_failed": "cancellation_failed",
    "extended_wait": "long_wait_before_a_retry",
    "settling": "waiting_for_a_call_to_settle",
    "compensated": "cancelled",
}
"""The values that pages call otherwise than the API, with the words of the pages. A query takes both, and is written
with these."""
ELSEWHERE: Mapping[str, str] = {
    "waiting": "waiting:anything",
    "paused": "paused:yes",
    "late": "promise:late",
    "retrying": "standing:retrying",
    "archived": "archived:yes",
}
"""What people look for as a state and another field has, as a condition."""
LEAST_BEGINNING = 3
"""Characters of a word that are enough to ask for a name that begins with it."""
_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field: what it selects, in words, an example, and how a value of it is read. `allowed` are the words for its
    values, if they are known, and `words` has those that differ from the value itself; `several` says whether it takes
    several with commas between them."""

    help: str
    example: str
    read: Callable[[str], str]
    allowed: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    several: bool = True

    def written(self, value: str) -> str:
        """The word for a value: `cancelled` for `compensated`."""
        return self.words.get(value, value)


def meant(word: str, names: Iterable[str], *, before: str = "") -> str:
    """A question whether the most alike of these names was meant, or else the first that begins with the word, and a
    space; empty if there is none."""
    written = {name.lower(): name for name in names}
    sought = word.lower()
    alike = get_close_matches(sought, list(written), n=1)
    if not alike and len(sought) >= LEAST_BEGINNING:
        alike = [name for name in written if name.startswith(sought)]
    return f"Did you mean {before}{written[alike[0]]}? " if alike else ""


def _choice(
    help_text: str, example: str, names: Sequence[str], words: Mapping[str, str] | None = None
) -> Field:
    own, words = example.partition(":")[0] + ":", words or {}
    allowed = tuple(words.get(name, name) for name in names)
    meanings = {word: name for name, word in words.items()}

    def read(value: str) -> str:
        word = value.lower().replace(" ", "_").replace("-", "_")
        name = meanings.get(word, word)
        if name not in names:
            other = f"Did you mean {ELSEWHERE[word]}? " if word in ELSEWHERE else ""
            raise BadValueError(
                f"{other or meant(word, allowed, before=own)}Choose from {', '.join(allowed)}."
            )
        return name

    return Field(help=help_text, example=example, read=read, allowed=allowed, words=words)


def _word(help_text: str, example: str, least: int = 1) -> Field:
    def read(value: str) -> str:
        if len(value) < least:
            raise BadValueError(f"Enter at least {least} characters.")
        return value

    return Field(help=help_text, example=example, read=read)


def _measured(help_text: str, example: str, check: Callable[[str], Any]) -> Field:
    def read(value: str) -> str:
        check(value)
        return value

    return Field(help=help_text, example=example, read=read, several=False)


def _time(help_text: str, example: str) -> Field:
    own = example.partition(":")[0] + ":"

    def check(value: str) -> None:
        try:
            read_times(value, now=_MOMENT, zone=UTC)
        except BadValueError as error:
            raise BadValueError(f"{meant(value, NAMED_DAYS, before=own)}{error}") from error

    return _measured(help_text, example, check)


def _id(value: str) -> str:
    digits = value.lower().replace("-", "")
    if not 4 <= len(digits) <= 32 or set(digits) - set("0123456789abcdef"):
        raise BadValueError("Enter an order ID, or at least 4 digits of its end or 8 of its beginning.")
    return value


def _number(value: str) -> str:
    try:
        number = read_number(value)
    except MistakenNumberError as error:
        raise BadValueError(MISTAKEN) from error
    if number is None:
        raise BadValueError("Enter the eight characters of an order's number.")
    return number


def _attribute(value: str) -> str:
    name, equals, text = value.partition("=")
    if not (name and equals and text):
        raise BadValueError("Enter a name and a value, as in method=xrd.")
    return value


def _waiting(value: str) -> str:
    return ANYTHING if value == "1" else value


def _paused(value: str) -> str:
    return value.lower() if value.lower() in (YES, NO) else value


FIELDS: Mapping[str, Field] = {
    "state": _choice("in this state", "state:error", [state.value for state in ProcessState], STATE_WORDS),
    "standing": _choice("that stand here", "standing:retrying", list(STANDINGS), STANDING_WORDS),
    "step": _word("unfinished, at this step: it is under way, waits or has failed", "step:create-shipment"),
    "agent": _word("unfinished, at a step of this agent", "agent:payments"),
    "waiting": Field(
        help=f"that wait for this agent, or for {ANYTHING}", example="waiting:carrier", read=_waiting
    ),
    "error": _word("with an open alert of this error code", "error:declined"),
    "owner": _word("with an open alert whose cause this operator owns", "owner:olga"),
    "acknowledged": _word(
        "with an open alert whose cause this operator has acknowledged since it began", "acknowledged:olga"
    ),
    "workflow": _word("of this workflow; unfinished, unless a state is named", "workflow:fulfil-order"),
    "priority": _measured("unfinished, of this priority", "priority:>5", read_numbers),
    "failures": _measured("with so many failures", "failures:>2", read_numbers),
    "attempts": _measured("with a step on such an attempt", "attempts:>3", read_numbers),
    "promise": _choice(
        "whose promised time has passed, or had passed when they finished", "promise:late", [LATE]
    ),
    "since": _time("placed then or later", "since:yesterday"),
    "until": _time("placed then or earlier", "until:2026-11-01"),
    "placed": _time(
        "placed on this day, in this month or between two of them", "placed:2026-11-01..2026-11-07"
    ),
    "age": _measured("older than this, or with < younger", "age:>2h", read_ages),
    "customer": _word(
        "of this customer: an account, an email, or a name from the beginning of a word", "customer:ada", 2
    ),
    "account": _word("of the account with exactly this name", "account:ada"),
    "email": _word("with this email, or a part of one from the beginning of a word", "email:@example.org", 2),
    "total": _measured("with such a total", "total:>200", read_amounts),
    "sku": _word("with a line of this SKU, or of one that begins like this", "sku:tidal-lines"),
    "title": _word("with a line whose SKU or title has these words", 'title:"tidal lines"', 2),
    "subject": _word("about exactly this subject", "subject:sample-12"),
    "reference": _word("that their client calls exactly this", "reference:PO-7"),
    "attribute": Field(
        help="with this attribute of their kind", example="attribute:method=xrd", read=_attribute
    ),
    "number": Field(help="with this number", example=f"number:{EXAMPLE}", read=_number),
    "id": Field(help="with this ID, its end or its beginning", example="id:3f9a01bc", read=_id),
    "paused": Field(
        help="that an operator has paused, or not, or that wait because this step is paused",
        example="paused:yes",
        read=_paused,
        allowed=(YES, NO),
    ),
    "archived": _choice("in the archive, or not", "archived:no", [YES, NO]),
}
ALIASES: Mapping[str, str] = {"kind": "standing", "code": "error", "older": "age"}
"""What the filters of a url were called before there was a language."""
