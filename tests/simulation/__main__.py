"""`bin/simulate --minutes 10`: lives one life after another, and prints how they went."""

import argparse
import json
import os
import random
import sys
import time
from dataclasses import asdict
from pathlib import Path

from tests.simulation.virtual import install_clock

install_clock()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 if all invariants held in every life, else 1."""
    parser = argparse.ArgumentParser(prog="bin/simulate", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long lives are begun")
    parser.add_argument("--seed", type=int, help="the seed of the only life")
    parser.add_argument("--first", type=int, default=random.randrange(10**6), help="the seed of the first life")
    parser.add_argument("--lives", type=int, default=10**9, help="how many lives at most")
    parser.add_argument("--orders", type=int, default=1000, help="orders in each life")
    parser.add_argument("--trace", type=Path, help="a file for every step of a life")
    parser.add_argument("--json", type=Path, help="a file for the reports, one a line")
    options = parser.parse_args(arguments)
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of a set is part of what a seed decides
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})
    from tests.simulation.lives import World

    seeds = [options.seed] if options.seed is not None else range(options.first, options.first + options.lives)
    ends = time.perf_counter() + options.minutes * 60
    orders, failed, began = 0, [], time.perf_counter()
    with World() as world:
        for seed in seeds:
            report = world.live(seed, orders=options.orders, trace=options.trace)
            orders += report.orders
            if options.json:
                with options.json.open("a") as file:
                    print(json.dumps(asdict(report)), file=file)
            print(
                f"seed {seed}: {report.orders} orders, {report.lived:.0f} s lived in {report.took:.1f} s ({report.worked:.1f} s of work), "
                f"{report.steps} steps, {report.checks} checks; {report.states}",
                flush=True,
            )
            if report.failure:
                failed.append(seed)
                print(f"FAILED with seed {seed}:\n{report.failure}\n{report.faults}", flush=True)
            if time.perf_counter() > ends:
                break
    seconds = time.perf_counter() - began
    print(f"{orders} orders in {seconds:.0f} s: {orders / seconds * 60:.0f} a minute; failed seeds: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
