"""Which characters the fonts of receipts have, and a text without those that they cannot show."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from struct import unpack_from
from unicodedata import category, normalize

FONTS = Path(__file__).with_name("fonts")
OF_ITS_PLANE = 4
"""The format of the table that leads from the first 65,536 code points to glyphs. Our fonts have no other."""
JOINER = "\u200d"
"""Makes one emoji of several, and tells how some letters join."""
LAST = 0xFFFF
"""Ends that table, and is no character."""


def shown(text: str) -> str:
    """The text as the fonts can show it.

    A character that they know in another form gets that one, such as A for a bold mathematical A. What is neither a
    letter nor a digit, such as an emoji, is left out. A letter or a digit that no font has stays, and is seen as a box:
    without it the name would be another.
    """
    pieces: list[str] = []
    for character in normalize("NFC", text):
        belongs_to_what_is_left_out = (
            (character == JOINER or _is_mark(character)) and pieces and not pieces[-1]
        )
        pieces.append("" if belongs_to_what_is_left_out else _shown(character))
    result = "".join(pieces)
    return result if result == text else " ".join(result.split())


def _shown(character: str) -> str:
    for form in (character, normalize("NFKC", character)):
        if all(ord(part) in covered() for part in form):
            return form
    return character if character.isalnum() or _is_mark(character) else ""


def _is_mark(character: str) -> bool:
    """Whether it is part of the letter before it, such as the sign of a vowel; what chooses a variant is not."""
    return category(character) in ("Mn", "Mc") and not "\ufe00" <= character <= "\ufe0f"


@cache
def covered() -> frozenset[int]:
    """The code points that at least one of the fonts has a glyph for. Reads them once, in about 20 ms."""
    return frozenset(code for font in FONTS.glob("*.ttf") for code in _code_points(font.read_bytes()))


def _code_points(font: bytes) -> Iterator[int]:
    """Those of a font: see `cmap` in the OpenType specification."""
    for offset in _tables(font):
        table_format, _length, _language, doubled = unpack_from(">4H", font, offset)
        if table_format == OF_ITS_PLANE:
            count = doubled // 2
            lasts = unpack_from(f">{count}H", font, offset + 14)
            firsts = unpack_from(f">{count}H", font, offset + 16 + doubled)
            for first, last in zip(firsts, lasts, strict=True):
                yield from range(first, min(last, LAST - 1) + 1)


def _tables(font: bytes) -> Iterator[int]:
    """Where a font's tables of code points begin."""
    (count,) = unpack_from(">H", font, 4)
    directory = {unpack_from(">4s", font, at)[0]: at for at in range(12, 12 + 16 * count, 16)}
    (start,) = unpack_from(">I", font, directory[b"cmap"] + 8)
    (subtables,) = unpack_from(">H", font, start + 2)
    for at in range(start + 4, start + 4 + 8 * subtables, 8):
        yield start + unpack_from(">I", font, at + 4)[0]
