"""CSV that a spreadsheet shows and does not run: a cell that would be a formula is marked as text."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")
BOM = "\ufeff"
"""Without it spreadsheets take UTF-8 for something else."""


class _Line:
    """What the writer writes to: it hands each line on."""

    def write(self, line: str) -> str:
        return line


def safe_cell(value: Any) -> str:
    """A cell's text; one that a spreadsheet would take for a formula begins with an apostrophe."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The lines of a file, its head first."""
    writer = csv.writer(_Line())
    yield BOM + writer.writerow([safe_cell(name) for name in columns])
    for row in rows:
        yield writer.writerow([safe_cell(value) for value in row])
