"""`bin/soak --minutes 10 --orders 5000 --seed N`: runs the soak and prints its report."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.soak.soak import Plan, Soak
from tests.support.own_database import own_database
from tests.support.system import System


def main() -> int:
    """Runs the soak. Returns 0 if all invariants hold; otherwise 1, after printing where the logs are."""
    parser = argparse.ArgumentParser(prog="bin/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long faults are injected")
    parser.add_argument("--orders", type=int, default=5000, help="orders placed in that time")
    parser.add_argument(
        "--seed", type=int, default=random.randrange(10**6), help="seed of all random choices"
    )
    options = parser.parse_args()
    print(f"soak: {options.orders} orders in {options.minutes:g} minutes, seed {options.seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="sasweb-soak-"))
    with own_database() as database:
        system = System(folder, DATABASE_URL=database.url, STEP_COMPLETE_BY="10")
        plan = Plan(seconds=options.minutes * 60, orders=options.orders, seed=options.seed)
        soak = Soak(plan=plan, system=system, database=database)
        try:
            report = soak.run()
        except AssertionError as error:
            print(
                f"FAILED: {str(error)[:3000]}\n{dict(soak.report.done)}\nthe processes' logs are in {folder}",
                flush=True,
            )
            return 1
        finally:
            system.end()
    print("\n".join(report.lines()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
