"""The query language of the list of orders: `customer:ada total:>200 -state:processed tidal lines`. Pure.

A query is conditions and free words, in any order. A condition is the name of a field, a colon and a value; with commas
between several values, one of them will do, and with `-` before it, it must not be met. A value with spaces, commas or
quotation marks stands in quotation marks, in which `\\"` and `\\\\` stand for `"` and `\\`. All conditions must be met.
There is no OR of conditions on different fields, and no brackets: both are errors that say so, not words to look for.
`parse(str(query))` is the query, and `str` writes it in one way, with the words of the pages: `state:compensated`, as
the API names it, is written `state:cancelled`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orders.selectors.desk.query_fields import ALIASES, FIELDS, meant
from orders.selectors.desk.query_values import BadValueError

LONGEST_QUERY = 500
"""Characters of a query."""

_SPACE = re.compile(r"\s*")
_FIELD = re.compile(r"(-?)([A-Za-z][A-Za-z_]*):")
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"', re.DOTALL)
_WORD = re.compile(r"\S+")
_ITEM = re.compile(r"[^\s,]+")
_ESCAPE = re.compile(r'\\(["\\])')
_PLAIN = re.compile(r'[^\s,"]+')
_BRACKET = re.compile(r"-?\(+-?[A-Za-z][A-Za-z_]*:")
_OPERATORS = {
    "or": "Separate alternatives of one field with commas, as in state:error,pending. Search for other "
    "alternatives one at a time.",
    "and": "Leave it out: all conditions must be met.",
    "not": "Put - before the condition that must not be met, as in -state:processed.",
}
_SIGNS = {"|": "or", "||": "or", "&": "and", "&&": "and"}


class QueryError(Exception):
    """Raised when a query cannot be read. The message is for people, `word` is the word that is wrong, and `allowed`
    are the words that could stand there, if they are few."""

    def __init__(self, message: str, *, word: str, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.word = word
        self.allowed = allowed


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition on the field `name`: any of `values`, or with `negated` none of them."""

    name: str
    values: tuple[str, ...]
    negated: bool = False

    def __str__(self) -> str:
        return f"{'-' if self.negated else ''}{self.name}:{','.join(map(_quoted, self.words))}"

    @property
    def words(self) -> tuple[str, ...]:
        """The values as they are written: `cancelled` for the state `compensated`."""
        return tuple(map(FIELDS[self.name].written, self.values))


@dataclass(frozen=True, kw_only=True)
class Query:
    """Conditions, and the free words as one text."""

    conditions: tuple[Condition, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        parts = [str(condition) for condition in self.conditions]
        return " ".join([*parts, _as_words(self.text, is_alone=not parts)] if self.text else parts)

    def without(self, *names: str) -> "Query":
        """The query without its conditions on these fields."""
        conditions = tuple(condition for condition in self.conditions if condition.name not in names)
        return Query(conditions=conditions, text=self.text)

    def values_of(self, name: str) -> tuple[str, ...]:
        """The values of the only condition on a field; none if there is no such, several, or a negated one."""
        on_it = [condition for condition in self.conditions if condition.name == name]
        return on_it[0].values if len(on_it) == 1 and not on_it[0].negated else ()


def parse(text: str) -> Query:
    """Reads a query. Raises `QueryError`."""
    conditions: list[Condition] = []
    words: list[str] = []
    tokens: list[str | None] = []
    at, is_quoted = _skip(text, 0), False
    while at < len(text):
        if match := _FIELD.match(text, at):
            condition, at = _read_condition(text, match)
            conditions.append(condition)
            tokens.append(None)
        elif text[at] == '"':
            word, at = _read_quoted(text, at)
            words.append(word)
            tokens.append("")
            is_quoted = True
        else:
            match = _WORD.match(text, at)
            assert match is not None  # something other than a space stands there
            words.append(match[0])
            tokens.append(match[0])
            at = match.end()
        at = _skip(text, at)
    _refuse_operators(tokens)
    is_plain = not conditions and not is_quoted
    return Query(conditions=tuple(conditions), text=text.strip() if is_plain else " ".join(words).strip())


def _refuse_operators(tokens: Sequence[str | None]) -> None:
    """Raises `QueryError` for a word that other languages take for an operator. None stands for a condition, and an
    empty word for one in quotation marks."""
    for at, word in enumerate(tokens):
        if not word:
            continue
        if _BRACKET.match(word):
            raise QueryError(
                "The query language has no brackets. Put a word that begins with one in quotation marks.",
                word=word,
            )
        name = _SIGNS.get(word, word.lower())
        is_beside = None in (*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2])
        if name in _OPERATORS and (word == "OR" or is_beside or (word.isupper() and None in tokens)):
            raise QueryError(
                f"The query language has no “{word}”. {_OPERATORS[name]} To search for the word itself, put it in "
                "quotation marks.",
                word=word,
            )


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _read_condition(text: str, match: re.Match[str]) -> tuple[Condition, int]:
    """The condition that begins there, and where it ends."""
    written = match[2].lower()
    name = ALIASES.get(written, written)
    field = FIELDS.get(name)
    if field is None:
        raise QueryError(
            f"There is no field “{match[2]}”. {meant(written, FIELDS)}Choose from {', '.join(FIELDS)}. "
            f"To search for a word with a colon, put it in quotation marks.",
            word=match[0],
            allowed=tuple(FIELDS),
        )
    values, at = _read_values(text, match.end(), several=field.several)
    if not all(values):
        raise QueryError(f"Say which after “{match[0]}”, as in {field.example}.", word=match[0])
    try:
        read = tuple(field.read(value) for value in values)
    except BadValueError as error:
        word = text[match.start() : at]
        raise QueryError(f"“{word}” cannot be read. {error}", word=word, allowed=field.allowed) from error
    return Condition(name=name, values=read, negated=bool(match[1])), at


def _read_values(text: str, at: int, *, several: bool) -> tuple[list[str], int]:
    values = []
    while True:
        value, at = _read_value(text, at, _ITEM if several else _WORD)
        values.append(value)
        if not several or text[at : at + 1] != ",":
            return values, at
        at += 1


def _read_value(text: str, at: int, bare: re.Pattern[str]) -> tuple[str, int]:
    if text[at : at + 1] == '"':
        return _read_quoted(text, at, before="," if bare is _ITEM else "")
    match = bare.match(text, at)
    return (match[0], match.end()) if match else ("", at)


def _read_quoted(text: str, at: int, *, before: str = "") -> tuple[str, int]:
    match = _QUOTED.match(text, at)
    if match is None:
        raise QueryError("Close the quotation marks.", word=text[at:])
    following = text[match.end() : match.end() + 1]
    if following and not following.isspace() and following != before:
        raise QueryError(f"Put a space after {match[0]}.", word=match[0])
    return _ESCAPE.sub(r"\1", match[1]).strip(), match.end()


def _quoted(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


def _as_words(text: str, *, is_alone: bool) -> str:
    """Free words as they can be written, in quotation marks if they would be read as something else."""
    words = re.split(r"\s+", text)
    is_plain = not any(_is_special(word, is_alone=is_alone) for word in words)
    return text if is_plain and (is_alone or " ".join(words) == text) else _whole(text)


def _is_special(word: str, *, is_alone: bool) -> bool:
    is_operator = word == "OR" or (not is_alone and _SIGNS.get(word, word.lower()) in _OPERATORS)
    return bool(is_operator or word.startswith('"') or _FIELD.match(word) or _BRACKET.match(word))


def _whole(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
