"""`bin/simulate --minutes 10`: lives one life after another, and prints how they went."""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count, repeat
from pathlib import Path
from typing import TYPE_CHECKING

from tests.simulation.virtual import install_clock

if TYPE_CHECKING:
    from tests.simulation.life import Report

# Before the product is imported, which keeps references to the clock.
install_clock()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")


def main() -> int:
    """Returns 0 if all invariants held in every life, else 1."""
    options = _parser().parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of a set is part of what a seed decides
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]], environment)
    from tests.simulation.lives import World  # noqa: PLC0415 (it starts Django, which is too early before this)

    if options.trace:
        options.trace.mkdir(parents=True, exist_ok=True)
    if options.seed is not None:
        options.processes = min(options.processes, options.times)
    began = time.perf_counter()
    reports: list[Report] = []
    with World() as world:
        seeds = _seeds(options, began + options.minutes * 60)
        for report in world.live(
            seeds, orders=options.orders, processes=options.processes, trace=options.trace
        ):
            reports.append(report)
            _print(report)
            if options.json:
                with options.json.open("a") as file:
                    print(json.dumps(asdict(report)), file=file)
    return _summarise(reports, time.perf_counter() - began)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bin/simulate", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=1.0, help="for how long lives are begun (default: 1)"
    )
    parser.add_argument("--seed", type=int, help="live one life, with this seed")
    parser.add_argument(
        "--first", type=int, default=random.randrange(10**6), help="the seed of the first life (default: any)"
    )
    parser.add_argument("--lives", type=int, help="how many lives at most")
    parser.add_argument("--times", type=int, default=1, help="how often to live each life (default: 1)")
    parser.add_argument("--orders", type=int, default=2500, help="orders in each life (default: 2500)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="lives at once (default: one a core)"
    )
    parser.add_argument("--trace", type=Path, help="write every step of each life to a file in this folder")
    parser.add_argument("--json", type=Path, help="append the reports to this file, one a line")
    return parser


def _seeds(options: argparse.Namespace, ends: float) -> Iterator[int]:
    if options.seed is not None:
        yield from repeat(options.seed, options.times)
        return
    for number in count() if options.lives is None else range(options.lives):
        if time.perf_counter() > ends:
            return
        yield from repeat(options.first + number, options.times)


def _print(report: "Report") -> None:
    states = ", ".join(f"{number} {state}" for state, number in sorted(report.states.items()))
    print(
        f"seed {report.seed}: {report.orders} orders ({states}); {report.lived:.0f} s lived in {report.took:.0f} s, "
        f"{report.statements} statements, {report.checks} checks",
        flush=True,
    )
    if report.failure:
        faults = ", ".join(f"{number} × {what}" for what, number in sorted(report.faults.items()))
        print(
            f"FAILED with seed {report.seed} and {report.orders} orders:\n{report.failure}\n{faults}",
            flush=True,
        )


def _summarise(reports: "list[Report]", seconds: float) -> int:
    for name in ("faults", "acts", "events"):
        total: Counter[str] = Counter()
        for report in reports:
            total.update(getattr(report, name))
        print(f"{name}: " + ", ".join(f"{number} × {what}" for what, number in sorted(total.items())))
    failed = [report.seed for report in reports if report.failure]
    orders = sum(report.orders for report in reports)
    print(f"{orders} orders in {seconds:.0f} s, {orders / seconds * 60:.0f} a minute")
    print(f"FAILED: seeds {failed}" if failed else "all invariants hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
