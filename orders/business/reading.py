"""Reads the values of an order's data, and says in one sentence what is wrong with one. Pure.

The input is hostile even inside the installation, because any application may post to the submission queue.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from orders.business.refusals import Text
from orders.engine.runtime.text import keepable
from orders.fields.email import LONGEST as LONGEST_EMAIL
from orders.fields.email import is_valid as is_valid_email
from orders.fields.text import is_one_line

FIRST_YEAR, LAST_YEAR = 2000, 2100
"""An order placed outside these years comes from a wrong clock."""


class BadOrderError(ValueError):
    """Raised when data do not describe an order. Its text is one sentence.

    `where` names the field that is wrong, as in `ship_to.city` or `lines[2].sku`; empty if it is the whole. `others`
    are further mistakes, so that a client reads of all of them at once.
    """

    def __init__(self, text: str, *, where: str = "", others: "Sequence[BadOrderError]" = ()) -> None:
        super().__init__(text)
        self.where = where
        self.others = others

    @property
    def mistakes(self) -> "Sequence[BadOrderError]":
        """This one, and then the others."""
        return [self, *(mistake for other in self.others for mistake in other.mistakes)]


def refuse_all(mistakes: Sequence[BadOrderError]) -> None:
    """Raises the first of these mistakes, with the others; does nothing if there are none."""
    if mistakes:
        first, *others = mistakes
        first.others = [*first.others, *others]
        raise first


def read_each(read: Callable[[str, object], Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the values of fields, each by `read`. Raises `BadOrderError` with the mistakes of all of them."""
    accepted, mistakes = {}, []
    for name, value in values.items():
        try:
            accepted[name] = read(name, value)
        except BadOrderError as error:
            mistakes.append(error)
    refuse_all(mistakes)
    return accepted


class RefusedAgainError(BadOrderError):
    """Raised when a customer's correction asks for the very thing that a service has just refused. `words` say that to
    her."""

    def __init__(self, text: str, *, where: str, words: Text) -> None:
        super().__init__(text, where=where)
        self.words = words


def read_object(value: object, where: str) -> Mapping[str, Any]:
    """Reads an object. Raises `BadOrderError`, as every function here does."""
    if not isinstance(value, Mapping):
        raise BadOrderError(f"{where} must be an object, not {shown(value)}.", where=where)
    return value


def read_whole(value: object, where: str, lowest: int, highest: int) -> int:
    """Reads a whole number from `lowest` to `highest`."""
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise BadOrderError(
            f"{where} must be a whole number from {lowest} to {highest}, not {shown(value)}.", where=where
        )
    return value


def read_text(value: object, where: str, longest: int, *, lowest: int = 1) -> str:
    """Reads a text without control characters: PostgreSQL keeps no NUL, and a line break could forge a log line."""
    if not isinstance(value, str) or not lowest <= len(value.strip()) or len(value) > longest:
        raise BadOrderError(
            f"{where} must be a text of {lowest} to {longest} characters, not {shown(value)}.", where=where
        )
    if not is_one_line(value):
        raise BadOrderError(
            f"{where} must have no control characters, and {shown(value)} has some.", where=where
        )
    return value


def read_lines(value: object, where: str, longest: int) -> str:
    """Reads a text of any number of lines, which may be empty, without what PostgreSQL does not keep."""
    if not isinstance(value, str) or len(value) > longest:
        raise BadOrderError(
            f"{where} must be texts of up to {longest} characters, not {shown(value)}.", where=where
        )
    if keepable(value) != value:
        raise BadOrderError(f"{where} has characters that cannot be stored.", where=where)
    return value


def read_letters(value: object, where: str, length: int) -> str:
    """Reads a code of ASCII letters and returns it in capitals."""
    if not isinstance(value, str) or len(value) != length or not (value.isascii() and value.isalpha()):
        raise BadOrderError(f"{where} must be a code of {length} letters, not {shown(value)}.", where=where)
    return value.upper()


def read_email(value: object, where: str = "email") -> str:
    """Reads an email address in ASCII."""
    text = read_text(value, where, LONGEST_EMAIL)
    if not is_valid_email(text):
        raise BadOrderError(f"{where} must be an email address in ASCII, not {shown(value)}.", where=where)
    return text


def read_moment(value: object, where: str) -> datetime:
    """Reads a time in ISO 8601 with its zone, and returns it in UTC."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not FIRST_YEAR <= moment.year < LAST_YEAR:
        raise BadOrderError(
            f"{where} must be a time in ISO 8601 with its zone, from the year {FIRST_YEAR} on, not {shown(value)}.",
            where=where,
        )
    return moment.astimezone(UTC)


def shown(value: object) -> str:
    """Shows a value in a sentence: short and in ASCII, so that it is safe in every page and database."""
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    if value is None:
        return "nothing"
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number of many digits"
    text = ascii(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:60]}…"
