"""Runs `bin/simulate` for tests."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def simulate(*options: str, bound: float) -> None:
    """Runs it with these options, for at most `bound` seconds. Fails the test, with its output, if a life fails."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", *options],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=bound,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-8_000:]}\n{done.stderr[-4_000:]}"
