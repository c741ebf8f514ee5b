"""A test that fails beside others is repeated under the same load (`tests/flaky.py`)."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from tests import flaky
from tests.support.wait import until

COUNTING = """
from pathlib import Path

def test_that_counts():
    path = Path(__file__).with_suffix(".count")
    number = int(path.read_text()) + 1 if path.exists() else 1
    path.write_text(str(number))
    assert number not in {bad}, f"failed at run {{number}}"

def test_that_passes():
    pass
"""
SESSION = """
import pytest
from pathlib import Path

@pytest.fixture(scope="session")
def session():
    with Path(__file__).with_suffix(".sessions").open("a") as file:
        file.write(".")
"""
Family = Callable[[set[int]], Path]


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Family:
    """Makes a family of two tests in a project of its own. One of them fails in the runs whose numbers are `bad`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(flaky.ROOT))

    def make(bad: set[int]) -> Path:
        path = tmp_path / "test_family.py"
        path.write_text(COUNTING.format(bad=bad))
        return path

    return make


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The table, in the test's own folder; repeated runs have no load beside them."""

    @contextlib.contextmanager
    def quiet(_arguments: Sequence[str]) -> Iterator[None]:
        yield

    monkeypatch.setattr(flaky, "load", quiet)
    monkeypatch.setattr(flaky, "TABLE", tmp_path / "reports" / "flaky.txt")
    return flaky.TABLE


def test_a_family_that_passes_runs_once_and_leaves_no_table(family: Family, table: Path) -> None:
    path = family({0})
    assert flaky.main([str(path)]) == 0
    assert path.with_suffix(".count").read_text() == "1"
    assert not table.exists()


def test_a_test_that_fails_only_once_passes_and_is_in_the_table(family: Family, table: Path) -> None:
    path = family({1})
    assert flaky.main([str(path)]) == 0
    assert path.with_suffix(".count").read_text() == "11"
    _title, test, reason = table.read_text().splitlines()
    assert test.startswith("0 of 10 more")
    assert test.endswith("test_family.py::test_that_counts")
    assert reason.strip().startswith("AssertionError: failed at run 1")


def test_one_more_failure_of_ten_is_red(family: Family, table: Path) -> None:
    path = family({1, 11})
    assert flaky.main([str(path)]) == pytest.ExitCode.TESTS_FAILED
    assert path.with_suffix(".count").read_text() == "11"
    assert table.read_text().splitlines()[1].startswith("1 of 10 more")


def test_repetitions_end_with_their_time(
    family: Family, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flaky, "LONGEST", 0.0)
    path = family({1})
    assert flaky.main([str(path)]) == 0
    assert path.with_suffix(".count").read_text() == "2"
    assert table.read_text().splitlines()[1].startswith("0 of 1 more")


def test_families_run_side_by_side_and_each_failure_runs_again(
    family: Family, table: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, other = family({1}), tmp_path / "test_other.py"
    other.write_text(COUNTING.format(bad={1, 2}).replace("test_that", "test_other"))
    assert flaky.main([str(path), "+", str(other)]) == pytest.ExitCode.TESTS_FAILED
    assert [file.with_suffix(".count").read_text() for file in (path, other)] == ["11", "11"]
    lines = table.read_text().splitlines()
    assert [line.split("  ")[0] for line in lines if "more  " in line] == ["0 of 10 more", "1 of 10 more"]
    assert "test_other_counts" in capfd.readouterr().out


def test_a_family_has_its_variables_in_every_run(
    family: Family, table: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = family({1})
    path.write_text(f"import os\nassert os.environ['SAS_MADE_UP'] == 'a,b'\n{path.read_text()}")
    assert flaky.main(["SAS_MADE_UP=a,b", str(path)]) == 0
    assert path.with_suffix(".count").read_text() == "11"


def test_each_run_has_new_session_fixtures(family: Family, table: Path) -> None:
    path = family({1})
    path.write_text(SESSION + path.read_text().replace("that_counts()", "that_counts(session)"))
    assert flaky.main([str(path)]) == 0
    assert path.with_suffix(".sessions").read_text() == "." * 11


def test_an_error_outside_a_test_is_not_run_again(family: Family, table: Path) -> None:
    path = family({0})
    path.write_text("import no_such_module")
    assert flaky.main([str(path)]) == pytest.ExitCode.INTERRUPTED
    assert not table.exists()


def test_the_load_runs_the_same_family_and_ends_with_all_its_processes(family: Family) -> None:
    path = family({0})
    count = path.with_suffix(".count")
    with flaky.load([str(path), "-n", "1"]):
        until(lambda: count.exists() and int(count.read_text() or 0) >= 2, what="a second run of the family")
        assert running(path)
    assert not running(path)


def running(path: Path) -> list[int]:
    """The processes that name the family on their command line."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if str(path) in (process.info["cmdline"] or [])
    ]
