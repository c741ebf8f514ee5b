"""Plain text for a terminal: aligned tables and paragraphs. What it is given is made safe to print."""

import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

WIDTH = 100
"""Characters in a line, unless the terminal says otherwise."""
GAP = "  "


class Fit(Enum):
    """What becomes of a column when the table is too wide."""

    KEEP = auto()
    CUT = auto()
    WRAP = auto()


@dataclass(frozen=True)
class Column:
    """`least` is what it keeps when it is cut or wrapped; `paint` colours a cell after it has been aligned."""

    title: str
    right: bool = False
    fit: Fit = Fit.KEEP
    least: int = 8
    paint: Callable[[str], str] | None = None


def printable(text: str) -> str:
    """The text without what moves a terminal's cursor or colours it: a customer or a remote may have written it."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in text)


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def table(columns: Sequence[Column], rows: Sequence[Sequence[object]], *, width: int = WIDTH) -> str:
    """An aligned table. A cell may have several lines; None is shown as a dash."""
    cells = [["–" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [
        max(
            width_of(column.title),
            *(width_of(line) for row in cells for line in row[index].split("\n")),
            0,
        )
        for index, column in enumerate(columns)
    ]
    widths = _narrowed(columns, widths, width)
    lines = [_line(columns, [column.title for column in columns], widths, painted=False)]
    for row in cells:
        folded = [_fold(cell, column, room) for cell, column, room in zip(row, columns, widths, strict=True)]
        for number in range(max(map(len, folded))):
            parts = [cell[number] if number < len(cell) else "" for cell in folded]
            lines.append(_line(columns, parts, widths, painted=True))
    return "\n".join(lines)


def _narrowed(columns: Sequence[Column], widths: list[int], width: int) -> list[int]:
    """Narrows columns until all fit: those that may be cut, the last one first, then the widest that may be wrapped."""
    widths = list(widths)
    cut = [index for index, column in enumerate(columns) if column.fit is Fit.CUT]
    wrapped = [index for index, column in enumerate(columns) if column.fit is Fit.WRAP]
    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        wide = [index for index in cut if widths[index] > columns[index].least]
        wide = wide[-1:] or [index for index in wrapped if widths[index] > columns[index].least]
        if not wide:
            break
        widths[max(wide, key=lambda index: widths[index])] -= 1
    return widths


def _fold(cell: str, column: Column, room: int) -> list[str]:
    lines = cell.split("\n")
    if column.fit is Fit.WRAP:
        return [
            part for line in lines for part in (textwrap.wrap(line, room, break_on_hyphens=False) or [""])
        ]
    return [line if width_of(line) <= room else _cut(line, room) for line in lines]


def _cut(text: str, room: int) -> str:
    while width_of(text) > room - 1:
        text = text[:-1]
    return text + "…"


def _line(columns: Sequence[Column], parts: Sequence[str], widths: Sequence[int], *, painted: bool) -> str:
    shown = []
    last = len(columns) - 1
    for index, (column, part, room) in enumerate(zip(columns, parts, widths, strict=True)):
        padding = " " * max(0, room - width_of(part))
        part = column.paint(part) if painted and column.paint and part else part
        shown.append(padding + part if column.right else part if index == last else part + padding)
    return GAP.join(shown).rstrip()


def paragraph(text: str, *, indent: str = "", width: int = WIDTH) -> str:
    """A text in lines of that width."""
    return textwrap.fill(
        printable(text), width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
