"""Tables in Markdown, as in bench/results.md: printing them, and reading what another run has printed."""

from collections.abc import Sequence
from typing import Any


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints a table."""
    shown = [[f"{cell:,.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in [list(columns), *shown]) for at in range(len(columns))]
    for row in [list(columns), ["-" * width for width in widths], *shown]:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def read_table(output: str) -> dict[str, dict[str, str]]:
    """Reads the table in the output of a benchmark: the cells of each row by their column, and the rows by their first
    cell. Raises `ValueError` if there is none."""
    lines = [line for line in output.splitlines() if line.startswith("|") and line.endswith("|")]
    if len(lines) < 3:
        raise ValueError("there is no table in the output")
    columns, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return {row[0]: dict(zip(columns[1:], row[1:], strict=True)) for row in rows}


def number(cell: str) -> float:
    """The number in a cell that `print_table` has printed."""
    return float(cell.replace(",", ""))
