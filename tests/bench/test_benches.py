"""Each benchmark runs a handful of orders and counts them correctly. Nothing is asserted about how long they take."""

import os
from pathlib import Path

import pytest

from bench import server
from bench.contenders import contest
from bench.contenders.environments import Unavailable
from tests.support import prefork
from tests.support.system import database_url

BOUND = 300.0
"""Seconds that one benchmark may take on a busy machine."""

# A benchmark itself checks that every order went through every step, and fails if one did not.
RUNS = {
    "throughput": (["--orders", "20", "--only", "loop", "--only", "sasweb"], "sasweb"),
    "throughput of a contender": (["--few", "3", "--only", "django-q2"], "django-q2"),
    "latency": (["--orders", "3", "--only", "no-op"], "no-op"),
    "latency of the engine alone": (["--orders", "3", "--peers", "--only", "sasweb"], "sasweb"),
    "latency of a contender": (["--orders", "2", "--peers", "--only", "django-q2"], "django-q2"),
    "load": (["--orders", "40", "--seconds", "0.5"], "90%"),
    "concurrency": (["--calls", "20", "--ms", "50"], "50"),
    "scale": (["--orders", "6100", "--orders", "6200", "--runs", "1", "--churn", "1000"], "scheduler: claim"),
    "parked": (["--orders", "100", "--answers", "5"], "100"),
    "console": (["--orders", "8", "--requests", "1"], "overview"),
    "queries": (["--orders", "300", "--requests", "1", "--only", "total:>200"], "customer:anna total:>200"),
    "signins": (["--rounds", "1", "--seconds", "1", "--parallel", "3"], "beside sign-ins"),
    "rest": (["--seconds", "0.2", "--orders", "60", "--held", "3"], "3 waiters and 3 streams"),
    "lost_replies": (["--lost", "2", "--rate", "0.5"], "effects done twice"),
    "retention": (
        ["--orders", "120", "--running", "20", "--rate", "20", "--seconds", "0.5"],
        "moved to the archive",
    ),
    "under_fault": (
        ["--orders", "5", "--waiting", "5", "--rate", "20", "--seconds", "0.5", "--only", "F30"],
        "F30",
    ),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_benchmark_of_a_few_orders_counts_them_all(
    run: str, transactional_db: None, tmp_path: Path
) -> None:
    options, named = RUNS[run]
    rows, _ = run_bench(run.split()[0], options, tmp_path)
    assert named in rows


def test_a_contender_that_cannot_be_installed_is_left_out_in_one_line(
    transactional_db: None, tmp_path: Path
) -> None:
    nothing_to_install = {"TMPDIR": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    options = ["--orders", "20", "--only", "dbos", "--only", "loop"]
    rows, errors = run_bench("throughput", options, tmp_path, **nothing_to_install)
    assert rows == ["", "----", "loop"]
    (line,) = [line for line in errors.splitlines() if "dbos" in line]
    assert line.startswith("dbos is left out: pip could not install it: ")


def test_a_contender_whose_worker_dies_is_left_out_rather_than_waited_for(transactional_db: None) -> None:
    with contest.ready(contest.CONTENDERS["django-q2"]) as contender:
        contender.act("fill", "lost", 1)
        with contender.workers() as (worker,):
            worker.kill()
            with pytest.raises(Unavailable, match="a worker ended with status -9"):
                contender.times("lost", 1)


def run_bench(name: str, options: list[str], folder: Path, **environment: str) -> tuple[list[str], str]:
    """Runs a benchmark. Returns the first cells of its table, and what it said on stderr."""
    env = {**os.environ, "DATABASE_URL": database_url(), "VAR_DIR": str(folder), **environment}
    done = prefork.complete("-m", f"bench.{name}", *options, env=env, bound=BOUND)
    assert done.returncode == 0, done.stderr[-4_000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    return [line.split("|")[1].strip() for line in lines], done.stderr


@pytest.mark.parametrize(
    ("values", "per_cent", "expected"),
    [
        ([3, 1, 2], 50, 2),
        ([1], 99, 1),
        (range(1, 101), 99, 99),
        (range(1, 101), 50, 50),
        (range(1, 102), 99, 100),
    ],
)
def test_a_percentile_is_one_of_the_values(values: list[float], per_cent: float, expected: float) -> None:
    assert server.percentile(values, per_cent) == expected
