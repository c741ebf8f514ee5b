"""The parts of the comparison of two commits: checking out, running, reading tables, pairs and ratios."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import tables
from bench.compare import (
    ROOT,
    Commit,
    Measures,
    Run,
    check_out,
    measure,
    python_for,
    read_measures,
    row,
    take_pairs,
)

THROUGHPUT = """AMD EPYC, 2 cores used, 24 GiB, load 1.6; 2,000,000 loops in 90 ms
sasweb: 0.50 ms of processor time an order in the scheduler
sasweb: 0.31 ms of processor time an order in the agent host
sasweb: 0.42 ms of processor time an order in PostgreSQL
sasweb: 1,046 orders/s
|        | orders | orders/s | of the loop | sasweb is … times as fast |
| ------ | ------ | -------- | ----------- | ------------------------- |
| sasweb |   6000 |    1,046 |             |                         1 |
"""
LATENCY = """| agents (ms) | orders | POST → 202, p50 | POST → 202, p99 |
| ----------- | ------ | --------------- | --------------- |
| sandbox     |    100 |              14 |        1.04e+03 |
"""
REST = """
| request    | requests/s | p50 ms | statements |     aim |
| ---------- | ---------- | ------ | ---------- | ------- |
| known read |      1,170 |   7.74 |            | 2,500/s |
"""
OLD = Commit("e01c113", Path("/old"), "python")
NEW = Commit("working tree", Path("/new"), "python")
SHORT = (Run("throughput", "sasweb", 10), Run("latency", "no-op", 5))


def test_a_table_that_was_printed_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    print("this machine")
    tables.print_table(["agents", "orders", "p50"], [["no-op", 12_000, 1234.5], ["sandbox", 3, ""]])
    assert tables.read_table(capsys.readouterr().out) == {
        "no-op": {"orders": "12000", "p50": "1.23e+03"},
        "sandbox": {"orders": "3", "p50": ""},
    }


def test_output_without_a_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="no table"):
        tables.read_table("sasweb: 1,046 orders/s\n")


def test_the_measures_of_throughput_are_the_rate_and_the_processor_time_of_all_parts() -> None:
    measures = read_measures(Run("throughput", "sasweb", 6_000), THROUGHPUT)
    assert measures == {"orders/s": 1046.0, "processor time an order (ms)": pytest.approx(1.23)}


def test_the_measures_of_latency_are_its_columns() -> None:
    measures = read_measures(Run("latency", "sandbox", 100), LATENCY)
    assert measures == {"sandbox: POST → 202, p50 (ms)": 14.0, "sandbox: POST → 202, p99 (ms)": 1040.0}


def test_the_measures_of_rest_are_its_columns_that_have_a_figure_and_no_aim() -> None:
    measures = read_measures(Run("rest", "known read", 1_000), REST)
    assert measures == {"known read: requests/s": 1170.0, "known read: p50 ms": 7.74}


def test_the_commits_take_turns_in_running_first() -> None:
    runs: list[tuple[str, str]] = []

    def note(commit: Commit, run: Run) -> Measures:
        runs.append((commit.name, run.name))
        return {run.name: float(len(runs))}

    pairs = take_pairs(OLD, NEW, runs=SHORT, pairs=2, measure=note)
    assert [name for name, _ in runs] == [OLD.name, NEW.name] * 2 + [NEW.name, OLD.name] * 2
    assert [name for _, name in runs] == ["throughput", "throughput", "latency", "latency"] * 2
    assert pairs == {"throughput": [(1, 2), (6, 5)], "latency": [(3, 4), (8, 7)]}


def test_a_measure_that_only_one_of_the_commits_has_is_left_out() -> None:
    pairs = take_pairs(
        OLD, NEW, runs=SHORT[:1], pairs=1, measure=lambda commit, run: {"orders/s": 5.0, commit.name: 1.0}
    )
    assert pairs == {"orders/s": [(5.0, 5.0)]}


def test_ratios_are_taken_within_the_pairs() -> None:
    """The machine is ten times as slow in the third pair. The ratio of the medians would be 2."""
    pairs = [(100.0, 200.0), (300.0, 330.0), (10.0, 15.0)]
    assert row("orders/s", pairs) == ["orders/s", 100.0, 200.0, 1.5, "1.1 to 2"]


def test_a_commit_is_checked_out_as_it_was_committed(tmp_path: Path) -> None:
    repository, folder = tmp_path / "repository", tmp_path / "folder"
    repository.mkdir()
    folder.mkdir()
    (repository / "requirements.txt").write_text("django==1\n")
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-C", str(repository)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *command], check=True)
    (repository / "requirements.txt").write_text("django==2\n")
    before = sorted((repository / ".git").rglob("*"))
    check_out("HEAD", folder, repository=repository)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"requirements.txt": "django==1\n"}
    assert sorted((repository / ".git").rglob("*")) == before


def test_a_commit_with_the_same_requirements_runs_with_this_python(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_bytes((ROOT / "requirements.txt").read_bytes())
    assert python_for(tmp_path) == sys.executable


@pytest.fixture
def commit(tmp_path: Path) -> Commit:
    """A commit whose benchmark prints a table with its arguments, and fails if it has to run no orders."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "__main__.py").write_text(
        "import sys\n"
        "name, only, what, orders, count = sys.argv[1:]\n"
        "print(only, orders)\n"
        "print(f'|  | p50 |\\n| - | - |\\n| {what} | {count} |')\n"
        "sys.exit(count == '0' and 'no orders')\n"
    )
    return Commit("e01c113", tmp_path, sys.executable)


def test_a_run_is_that_of_the_commit(commit: Commit) -> None:
    assert measure(commit, Run("latency", "no-op", 7)) == {"no-op: p50 (ms)": 7.0}


def test_a_benchmark_that_fails_ends_the_comparison_with_its_output(commit: Commit) -> None:
    with pytest.raises(SystemExit, match=r"no orders\n\nbench: latency --only no-op failed in e01c113"):
        measure(commit, Run("latency", "no-op", 0))
