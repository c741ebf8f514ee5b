"""CSV files that a spreadsheet shows and does not run: a cell that would be a formula is marked as text."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse

FORMULA = ("=", "+", "-", "@", "\t", "\r")
BOM = "\ufeff"
"""The byte-order mark, without which spreadsheets do not recognise UTF-8."""


class _Line:
    """The file that the CSV writer writes to. It returns each line."""

    def write(self, line: str) -> str:
        return line


def safe_cell(value: Any) -> str:
    """Returns a cell's text. One that a spreadsheet would take for a formula begins with an apostrophe."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yields the lines of a file, its head first."""
    writer = csv.writer(_Line())
    yield BOM + writer.writerow([safe_cell(name) for name in columns])
    for row in rows:
        yield writer.writerow([safe_cell(value) for value in row])


def csv_response(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Answers with a file of that name, row by row as they are read."""
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
