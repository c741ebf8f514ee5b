"""A short simulation; `bin/simulate` runs long ones."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.program import simulate

SEED = int(os.environ.get("SAS_SEED", "2480"))
"""The first of four lives that differ much and need comparatively few statements. In the second, steps depend
on conditions and run for items; in the third, they wait for what comes from outside. `bin/simulate` lives others."""
BOUND = 900.0
"""Seconds that the lives may take on a busy machine."""


def reports_of(reports: Path, *options: str) -> list[dict[str, Any]]:
    """Runs `bin/simulate`; returns the reports of the lives, by their seeds."""
    simulate("--minutes", "60", "--json", str(reports), *options, bound=BOUND)
    return sorted(map(json.loads, reports.read_text().splitlines()), key=lambda report: int(report["seed"]))


@pytest.mark.pattern("C2", "C3", "C9", "C10", "A3", "A7", "V6", "O2", "T1", "F21", "F22", "F23", "F33")
@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_the_life_of_1250_orders_violates_no_invariant(seed: int, tmp_path: Path) -> None:
    """Every role is killed and stopped, every connection cut, while operators and customers act on the same orders."""
    (report,) = reports_of(
        tmp_path / "reports", "--first", str(seed), "--lives", "1", "--orders", "1250", "--processes", "1"
    )
    assert report["failure"] == ""
    assert sum(report["states"].values()) == 1_250
    assert report["checks"] > 100


def test_a_seed_replays_a_life_exactly(tmp_path: Path) -> None:
    """Down to the rows that each statement returns, also beside another life."""
    traces = tmp_path / "traces"
    options = "--seed", str(SEED), "--times", "2", "--orders", "600", "--processes", "2"
    first, second = reports_of(tmp_path / "reports", *options, "--trace", str(traces))
    steps, same_steps = ((traces / f"{name}.txt").read_text().splitlines() for name in (SEED, f"{SEED}-2"))
    assert steps == same_steps
    assert {**first, "took": 0, "worked": 0} == {**second, "took": 0, "worked": 0}
    assert first["statements"] > 5_000
