"""What an order costs the database stays within limits, so that nobody makes its path longer unnoticed."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import tables
from bench.path import Costs, Pass, cheapest

PROJECT = Path(__file__).resolve().parents[2]
BOUND = 300.0
"""Seconds that the benchmark may take on a busy machine."""
COLUMNS = ("statements", "round trips", "transactions", "writing", "bytes of WAL")
LIMITS = {
    "alone: submission": (9, 3, 1, 1, 2_600),
    "alone: scheduler": (73, 16, 5, 5, 11_400),
    "alone: agent host": (60, 52, 16, 8, 3_100),
    "one of 100: submission": (0.09, 0.03, 0.01, 0.01, 2_600),
    "one of 100: scheduler": (0.73, 0.16, 0.05, 0.05, 12_200),
    "one of 100: agent host": (0.6, 0.52, 0.16, 0.08, 3_600),
    "idle pass: submission": (3, 2, 1, 0, 0),
    "idle pass: scheduler": (7, 3, 1, 0, 0),
    "idle pass: agent host": (11, 9, 3, 0, 0),
}
"""The most that each row of `python -m bench path` may show, by `COLUMNS`.

They are the counts themselves, and a tenth more for the bytes of WAL, which vary with the random ids of the orders.
When your change lowers a count, lower its limit in the same commit, and put the table into bench/results.md. When it
raises one, look first for a statement that can do two things at once; then raise the limit, and say in the commit what
the order gets for it.
"""


def test_an_order_costs_the_database_no_more_than_its_limits() -> None:
    """The benchmark has its own server: others would write to the WAL of this one."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", "path"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    table = tables.read_table(done.stdout)
    assert {name: tuple(row) for name, row in table.items()} == dict.fromkeys(LIMITS, COLUMNS)
    exceeded = [
        f"{name}: {row[column]} {column}, the limit is {limit:,}"
        for name, row in table.items()
        for column, limit in zip(COLUMNS, LIMITS[name], strict=True)
        if tables.number(row[column]) > limit
    ]
    assert exceeded == [], done.stdout


def test_a_pass_costs_what_it_costs_at_its_cheapest() -> None:
    runs = [
        [Pass("scheduler", Costs(9, 7, 1, 1, 50)), Pass("scheduler", Costs(5, 3, 1, 0, 20))],
        [Pass("scheduler", Costs(8, 8, 1, 1, 60)), Pass("scheduler", Costs(6, 2, 1, 1, 10))],
    ]
    assert cheapest(runs) == {"scheduler": Costs(8 + 5, 7 + 2, 2, 1, 50 + 10)}


def test_runs_of_different_passes_cannot_be_compared() -> None:
    costs = Costs(1, 1, 1, 1, 1)
    with pytest.raises(ValueError, match="unpack"):
        cheapest([[Pass("scheduler", costs)], [Pass("agent host", costs)]])
    with pytest.raises(ValueError, match="shorter"):
        cheapest([[Pass("scheduler", costs)], []])
