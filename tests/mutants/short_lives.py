"""Lives of a few hundred orders, which kill the mutants of `tests.mutants.simulation`.

`bin/test` does not collect them, since it simulates longer lives. `bin/mutate` does, and stops at the first life that
fails.
"""

import pytest

from tests.simulation.program import simulate

SEEDS = (15, 26, 7, 17, 19, 14)
"""Lives in which much goes wrong and people do much; those in which most mutants die come first. In 26, 19 and 14 the
remote services keep no keys."""
ORDERS = 300
BOUND = 300.0
"""Seconds that one life may take on a busy machine."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_short_life_violates_no_invariant(seed: int) -> None:
    simulate("--seed", str(seed), "--orders", str(ORDERS), bound=BOUND)
