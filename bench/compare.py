"""Compares two commits: the throughput and the latency of REF and of the working tree, in turns on this machine.

    .venv/bin/python -m bench compare REF [--only throughput|latency|rest] [--pairs N] [--orders N]

Each commit runs its own benchmark with its own packages, and each run has its own PostgreSQL server. The machine may be
slower in one minute than in the next, so the commits run in pairs: REF first in one pair, last in the next. What counts
are the ratios within the pairs. Other processes on the machine disturb the processor time least.
"""

import argparse
import hashlib
import math
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import tables
from bench.environments import python_with
from sasweb.launcher import children

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ("requirements.txt", "constraints.txt")
"""The files that decide which packages a commit runs with. Earlier commits have the second, too."""
SHOWN = 4_000
"""Characters of a failed run's output that are printed."""
PROCESSOR_TIME = re.compile(r"([\d.]+) ms of processor time an order")


class Commit(NamedTuple):
    """A commit, checked out into a folder, and the Python to run it with."""

    name: str
    folder: Path
    python: str


class Run(NamedTuple):
    """A run of a benchmark: `python -m bench NAME --only ONLY --orders ORDERS`."""

    name: str
    only: str
    orders: int


Measures = dict[str, float]
"""What a run has measured, by name and unit."""
Pair = tuple[float, float]
"""A measure of REF and the same measure of the working tree, of two runs one after the other."""

RUNS = (Run("throughput", "sasweb", 6_000), Run("latency", "no-op", 100), Run("latency", "sandbox", 100))
WHEN_ASKED = tuple(Run("rest", row, 1_000) for row in ("known read", "read", "order", "list of 50"))
"""Earlier commits do not have them."""
NAMES = sorted({run.name for run in (*RUNS, *WHEN_ASKED)})


def check_out(ref: str, folder: Path, *, repository: Path = ROOT) -> None:
    """Writes the files of a commit into a folder, and nothing into `.git`."""
    archive = subprocess.run(
        ["git", "archive", ref], cwd=repository, stdout=subprocess.PIPE, check=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def requirements(folder: Path) -> bytes:
    """The contents of the files that decide which packages a commit runs with."""
    return b"".join((folder / name).read_bytes() for name in REQUIREMENTS if (folder / name).exists())


def python_for(folder: Path) -> str:
    """The present Python if the commit in a folder requires the same packages, or else that of its own environment."""
    if requirements(folder) == requirements(ROOT):
        return sys.executable
    digest = hashlib.sha256(requirements(folder)).hexdigest()[:16]
    return python_with(digest, "-r", str(folder / "requirements.txt"))


def measure(commit: Commit, run: Run) -> Measures:
    """Runs a benchmark of a commit. Ends this process if it fails."""
    argv = [commit.python, "-m", "bench", run.name, "--only", run.only, "--orders", str(run.orders)]
    # SIGINT lets the benchmark remove its server.
    process = children.spawn(
        argv, cwd=commit.folder, output=subprocess.PIPE, death_signal=signal.SIGINT, own_session=False
    )
    output = process.communicate()[0].decode(errors="replace")
    if process.returncode:
        sys.exit(f"{output[-SHOWN:]}\nbench: {run.name} --only {run.only} failed in {commit.name}")
    measures = read_measures(run, output)
    shown = "; ".join(f"{name} {value:,.3g}" for name, value in measures.items())
    print(f"{commit.name}: {shown}", file=sys.stderr, flush=True)
    return measures


def read_measures(run: Run, output: str) -> Measures:
    """The measures in the output of a run."""
    row = tables.read_table(output)[run.only]
    if run.name == "latency":
        return {
            f"{run.only}: {column} (ms)": tables.number(cell)
            for column, cell in row.items()
            if column != "orders"
        }
    if run.name == "rest":
        return {
            f"{run.only}: {column}": tables.number(cell)
            for column, cell in row.items()
            if cell and column != "aim"
        }
    times = [float(milliseconds) for milliseconds in PROCESSOR_TIME.findall(output)]
    return {
        "orders/s": tables.number(row["orders/s"]),
        **({"processor time an order (ms)": sum(times)} if times else {}),
    }


def take_pairs(
    before: Commit,
    after: Commit,
    *,
    runs: Sequence[Run],
    pairs: int,
    measure: Callable[[Commit, Run], Measures] = measure,
) -> dict[str, list[Pair]]:
    """Measures each run of both commits one after the other, `pairs` times, and keeps the measures that both have."""
    results: dict[str, list[Pair]] = {}
    for turn in range(pairs):
        order = (before, after) if turn % 2 == 0 else (after, before)
        for run in runs:
            measures = {commit: measure(commit, run) for commit in order}
            for name in measures[before]:
                if name in measures[after]:
                    pair = (measures[before][name], measures[after][name])
                    results.setdefault(name, []).append(pair)
    return results


def row(name: str, pairs: Sequence[Pair]) -> list[str | float]:
    """A row of the table: the medians of both, and the median and the range of the ratios within the pairs."""
    ratios = [after / before if before else math.nan for before, after in pairs]
    medians = [statistics.median(values) for values in zip(*pairs, strict=True)]
    return [name, *medians, statistics.median(ratios), f"{min(ratios):.3g} to {max(ratios):.3g}"]


def commit_of(ref: str) -> str:
    """The short name of the commit that `ref` names. Raises
    `argparse.ArgumentTypeError`."""
    argv = ["git", "rev-parse", "--verify", "--quiet", "--short", f"{ref}^{{commit}}"]
    name = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    if not name:
        raise argparse.ArgumentTypeError(f"there is no commit {ref}")
    return name


def main() -> None:
    """Compares the commits and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench compare", description=__doc__.partition("\n")[0])
    parser.add_argument("ref", metavar="REF", type=commit_of, help="the commit to compare with")
    parser.add_argument("--only", choices=NAMES, help="throughput and latency by default")
    parser.add_argument("--pairs", type=int, default=5, help="how often both run; %(default)s by default")
    defaults = ", ".join(
        f"{orders} of {name}"
        for name, orders in {run.name: run.orders for run in (*RUNS, *WHEN_ASKED)}.items()
    )
    parser.add_argument("--orders", type=int, help=f"of each run; {defaults} by default")
    options = parser.parse_args()
    runs = [
        run._replace(orders=options.orders or run.orders)
        for run in (*RUNS, *WHEN_ASKED)
        if run.name == options.only or (options.only is None and run in RUNS)
    ]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        check_out(options.ref, Path(folder))
        before = Commit(options.ref, Path(folder), python_for(Path(folder)))
        after = Commit("working tree", ROOT, sys.executable)
        results = take_pairs(before, after, runs=runs, pairs=options.pairs)
    columns = ["", before.name, after.name, f"{after.name}/{before.name}", "range"]
    tables.print_table(columns, [row(name, pairs) for name, pairs in results.items()])


if __name__ == "__main__":
    main()
