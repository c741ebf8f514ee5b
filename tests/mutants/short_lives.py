"""Lives of a few hundred orders, which kill the mutants of `tests.mutants.simulation`.

`bin/test` does not collect them, since it simulates longer lives. `bin/mutate` does, and stops at the first life that
fails.
"""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SEEDS = (15, 26, 7, 17, 19, 14)
"""Lives in which much goes wrong and people do much; those in which most mutants die come first. In 26, 19 and 14 the
remote services keep no keys."""
ORDERS = 300
BOUND = 300.0
"""Seconds that one life may take on a busy machine."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_short_life_violates_no_invariant(seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "--seed", str(seed), "--orders", str(ORDERS)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3_000:]}\n{done.stderr[-1_000:]}"
