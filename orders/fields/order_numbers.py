"""The number of an order that people can say: eight characters, such as `7KXM-93DJ`. Pure.

It follows from the order's id, so whoever has the one has the other, without asking the database. That no two orders
have the same is seen to where orders are placed (docs/adr/0081). Seven characters are the number itself; the last one
is a check character, which finds any one character that is wrong and any two that have changed places.
"""

import re
import unicodedata
from hashlib import sha256
from uuid import UUID

ALPHABET = "23456789ABCDEFGHJKMNPRSTVWXYZ"
"""No 0, O and Q, no 1, I and L, and no U. There are 29, a prime number, or the check character would miss mistakes."""
BASE = len(ALPHABET)
DIGITS = 7
"""Characters without the check character."""
NUMBERS: int = BASE**DIGITS
"""How many numbers there are, 17 billion. `orders.models.channel` has the same in SQL."""
EXAMPLE = "7KXM-93DJ"
MISTAKEN = "That number has a mistake in it (the check character does not fit)."
"""What a `MistakenNumberError` means, for operators and programs."""

_MEANT = str.maketrans({**dict.fromkeys("0OQ", "D"), "1": "7", **dict.fromkeys("IL", "J"), "U": "V"})
"""What was probably read where somebody wrote what no number has. The check character finds a wrong guess."""
_HYPHENS = r"\-\u2010-\u2015\u2212"
_SEPARATORS = re.compile(rf"[\s._{_HYPHENS}]+")
_FORM = re.compile(f"[0-9A-Za-z]{{{DIGITS + 1}}}")
_WRITTEN = re.compile(rf"#?\w{{4}}[\s{_HYPHENS}]\w{{4}}")


class MistakenNumberError(ValueError):
    """Raised for a text that has the form of an order's number, but whose check character does not fit."""


def spoken_number(order_id: UUID) -> str:
    """The number of the order with this id, as people see it."""
    return _written(number_value(order_id))


def number_value(order_id: UUID) -> int:
    """The same as a whole number below `NUMBERS`: from the first 60 bits of the SHA-256 of the id."""
    return (int.from_bytes(sha256(order_id.bytes).digest()[:8], "big") >> 4) % NUMBERS


def read_number(text: str) -> str | None:
    """The number that somebody typed, as `spoken_number` writes it, in any case, with or without its hyphen, and with
    the characters mapped that are easily confused. None for anything that cannot be a number, such as an id.

    Raises `MistakenNumberError`.
    """
    characters = _SEPARATORS.sub("", unicodedata.normalize("NFKC", text).strip().removeprefix("#"))
    if not _FORM.fullmatch(characters):
        return None
    characters = characters.upper().translate(_MEANT)
    if _weighted(characters) % BASE:
        raise MistakenNumberError(text)
    return f"{characters[:4]}-{characters[4:]}"


def is_written_as_number(text: str) -> bool:
    """Whether a text is two groups of four characters, so that whoever typed it meant a number and not a word."""
    return _WRITTEN.fullmatch(unicodedata.normalize("NFKC", text).strip()) is not None


def value_of(number: str) -> int:
    """The whole number that a number stands for. Takes what `read_number` returns."""
    value = 0
    for character in number.replace("-", "")[:DIGITS]:
        value = value * BASE + ALPHABET.index(character)
    return value


def _written(value: int) -> str:
    digits = ""
    for _ in range(DIGITS):
        value, digit = divmod(value, BASE)
        digits = ALPHABET[digit] + digits
    check = -_weighted(digits) * pow(DIGITS + 1, -1, BASE) % BASE
    return f"{digits[:4]}-{digits[4:]}{ALPHABET[check]}"


def _weighted(characters: str) -> int:
    """Each character times its place. A multiple of `BASE` for a whole number: no place, and no difference of two
    places, is a multiple of that prime, so one wrong character or two that were swapped always show."""
    return sum(place * ALPHABET.index(character) for place, character in enumerate(characters, 1))
