"""Tables and paragraphs for a terminal, laid out by rich. Plain and uncoloured unless colour is asked for.

Much of what commands print was written by customers or remote services. It is made safe first: control characters are
replaced, and rich's markup is never interpreted.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

WIDTH = 100
"""Characters in a line, unless the terminal is wider."""
GAP = 2


class Fit(Enum):
    """What happens to a column when the table is too wide."""

    KEEP = auto()
    CUT = auto()
    WRAP = auto()


@dataclass(frozen=True)
class Column:
    """`least` is the width below which it is not cut or wrapped; `style` gives the style of a cell's text."""

    title: str
    right: bool = False
    fit: Fit = Fit.KEEP
    least: int = 8
    style: Callable[[str], str] | None = None


def printable(text: str) -> str:
    """The text without characters that would move the cursor or change colours."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in text)


def styled(text: str, style: str, *, coloured: bool) -> str:
    """The text, safe to print, in a style such as "bold red" if it may be coloured."""
    return _render(Text(printable(text), style), width=cell_len(text) + 1, coloured=coloured)


def paragraph(text: str, *, indent: str = "", width: int = WIDTH) -> str:
    """A text in lines of at most `width` characters."""
    lines = Text(printable(text)).wrap(_console(width, coloured=False), max(width - len(indent), 1))
    return "\n".join(f"{indent}{line.plain}".rstrip() for line in lines)


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[object]],
    *,
    width: int = WIDTH,
    coloured: bool = False,
) -> str:
    """An aligned table. A cell may have several lines; None is shown as a dash."""
    cells = [["–" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    grid = Table(box=None, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0), header_style="")
    for column, room in zip(columns, _widths(columns, cells, width), strict=True):
        grid.add_column(
            Text(column.title),
            width=room,
            justify="right" if column.right else "left",
            no_wrap=column.fit is not Fit.WRAP,
            overflow="fold" if column.fit is Fit.WRAP else "ellipsis",
        )
    for row in cells:
        grid.add_row(
            *(
                Text(cell, column.style(cell) if column.style else "")
                for cell, column in zip(row, columns, strict=True)
            )
        )
    return _render(grid, width=max(width, grid_width(columns, cells, width)), coloured=coloured)


def grid_width(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> int:
    """The width of a table that is narrowed as far as its columns allow."""
    return sum(_widths(columns, cells, width)) + GAP * len(columns)


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Narrows columns until all fit: first those that may be cut, from the last one on, then the widest that may be
    wrapped.

    Rich narrows every column alike, which would cut ids and numbers.
    """
    widths = [
        max(cell_len(column.title), *(cell_len(line) for row in cells for line in row[index].split("\n")), 0)
        for index, column in enumerate(columns)
    ]
    cut = [index for index, column in enumerate(columns) if column.fit is Fit.CUT]
    wrapped = [index for index, column in enumerate(columns) if column.fit is Fit.WRAP]
    while sum(widths) + GAP * (len(widths) - 1) > width:
        wide = [index for index in cut if widths[index] > columns[index].least][-1:] or [
            index for index in wrapped if widths[index] > columns[index].least
        ]
        if not wide:
            break
        widths[max(wide, key=lambda index: widths[index])] -= 1
    return widths


def _render(renderable: RenderableType, *, width: int, coloured: bool) -> str:
    console = _console(width, coloured=coloured)
    with console.capture() as capture:
        console.print(renderable, end="")
    lines = capture.get().rstrip("\n").split("\n")
    return "\n".join(line.rstrip() for line in lines)


def _console(width: int, *, coloured: bool) -> Console:
    """A console that prints text as it is: no markup, no emoji codes, no highlighting of numbers."""
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        markup=False,
        emoji=False,
        highlight=False,
    )
