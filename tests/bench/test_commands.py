"""The command that runs benchmarks explains itself, and none of them deletes orders in a database that nobody named."""

import os
import subprocess
from pathlib import Path

import pytest

from bench.__main__ import NAMES
from tests.support import prefork


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a module without DATABASE_URL."""
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return prefork.complete("-m", *arguments, env={**env, "VAR_DIR": str(folder)})


def test_help_names_every_benchmark(tmp_path: Path) -> None:
    done = run("bench", "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in NAMES if name not in done.stdout] == []


def test_a_misspelt_benchmark_is_named(tmp_path: Path) -> None:
    done = run("bench", "thruput", "--orders", "9", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bench: there is no benchmark thruput; --help lists what there is\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_benchmark_needs_no_database(name: str, tmp_path: Path) -> None:
    done = run("bench", name, "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: python -m bench {name} ")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "compare"])
def test_a_benchmark_refuses_to_change_a_database_that_nobody_named(name: str, tmp_path: Path) -> None:
    done = run(f"bench.{name}", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "bench: this changes the database of DATABASE_URL, which is not set; run python -m bench NAME instead\n"
    )
