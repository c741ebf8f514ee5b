"""Runs families of tests side by side, and repeats each test that fails: up to ten times, under the same load.

    python -m tests.flaky [PYTEST ARGUMENT … [+ PYTEST ARGUMENT …]]     runs the families
    python -m tests.flaky --table                                       prints the table of the tests that failed

A family's arguments may begin with variables of its environment, as in BUSINESSES=orders.shop,examples.lab.

A test that fails beside other tests and passes alone is not proved right: load makes it fail, and load is what this
product is about. So each failed test runs ten more times while all families run again beside it, or as often as ten
minutes for all of them allow. If it fails once more, the run fails. Otherwise the run goes on, and the test appears in
the table that is printed at the end and kept in `reports/flaky.txt`. Every line of that table is a bug in a test or in
the product.

The exit status is pytest's own, or 1 if a test failed again.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "reports" / "flaky.txt"
TIMES = 10
LONGEST = 600.0
"""Seconds after which no repetition begins. Each failed test has an equal share of them, and runs once at least."""
MOST = 10
"""More failures than this are not chance."""
OWN_SERVER = [sys.executable, "-m", "sasweb.embedded_postgres", "--"]
VARIABLE = re.compile("[A-Z_]+=")
FAILURES_TO, REPEAT, SHARE = "SAS_FAILURES_TO", "SAS_REPEAT", "SAS_REPEAT_SECONDS"
STARTING, STOPPING = 180.0, 60.0
"""Seconds that the second run may take until its first test runs, and until it ends after a signal."""

Failures = dict[str, list[str]]
"""The reasons for each test's failures, by the test's id."""
Family = list[str]
"""Variables of the environment, and pytest's arguments."""


class Outcome(NamedTuple):
    """Of a run of pytest: its exit status, the failures, and how often each test ran, by the test's id."""

    status: int
    failures: Failures
    runs: Mapping[str, int]


def main(arguments: Sequence[str]) -> int:
    """Runs the families and then the failed tests again; returns the exit status."""
    if list(arguments) == ["--table"]:
        print(TABLE.read_text() if TABLE.exists() else "No test failed beside the others.")
        return 0
    families = [list(family) for is_plus, family in groupby(arguments, "+".__eq__) if not is_plus] or [[]]
    outcomes = run_side_by_side(families)
    status = max(outcome.status for outcome in outcomes)
    count = sum(len(outcome.failures) for outcome in outcomes)
    if status != pytest.ExitCode.TESTS_FAILED:
        return status
    if count > MOST:
        print(f"sasweb: {count} tests failed: too many to be a matter of load", file=sys.stderr)
        return status
    print(f"sasweb: {count} failed; each runs up to {TIMES} times more under the same load", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        for family in families:
            stack.enter_context(load(family))
        return max(
            run_again(outcome.failures, seconds=LONGEST / count, variables=variables_of(family))
            for family, outcome in zip(families, outcomes, strict=True)
            if outcome.failures
        )


def run_side_by_side(families: Sequence[Family]) -> list[Outcome]:
    """Runs all families at once.

    The first prints as it goes, on the server of DATABASE_URL. Each of the others has a server of its own, since their
    databases have the same names, and its output follows when all have ended.
    """
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(families)) as pool:
        outputs = [None, *(stack.enter_context(TemporaryFile()) for _ in families[1:])]
        outcomes = list(pool.map(lambda family, output: run(family, output=output), families, outputs))
        for output in outputs[1:]:
            _print(output)
    return outcomes


def _print(output: IO[bytes] | None) -> None:
    if output is not None:
        output.seek(0)
        print(output.read().decode(errors="replace"), flush=True)


def variables_of(family: Family) -> list[str]:
    """The variables of the environment at the start of a family."""
    return list(takewhile(VARIABLE.match, family))


def run_again(failures: Failures, *, seconds: float, variables: Sequence[str] = ()) -> int:
    """Repeats each failed test, for so many seconds at most, and adds it to the table; returns the exit status."""
    again = run([*variables, *failures, "-n", "0"], repeat=TIMES, seconds=seconds)
    write_table(failures, again)
    return again.status


def run(
    family: Family, *, repeat: int = 1, seconds: float = LONGEST, output: IO[bytes] | None = None
) -> Outcome:
    """Runs pytest."""
    with TemporaryDirectory(prefix="sasweb-failures-") as folder:
        path = Path(folder) / "failures.json"
        marks = {FAILURES_TO: str(path), REPEAT: str(repeat), SHARE: str(seconds)}
        if output is None:
            status = subprocess.run(_pytest(family), env={**os.environ, **marks}, check=False).returncode
        else:
            command = [*OWN_SERVER, *_pytest(family)]
            env = {**_without_server(), **marks}
            status = subprocess.run(command, env=env, stdout=output, stderr=output, check=False).returncode
        failures, runs = json.loads(path.read_text()) if path.exists() else ({}, {})
        return Outcome(status, failures, runs)


@contextlib.contextmanager
def load(family: Family) -> Iterator[None]:
    """Repeats a family until the block ends, on a database server of its own. Its results do not matter."""
    with TemporaryDirectory(prefix="sasweb-load-") as folder:
        output = Path(folder) / "output"
        process = _start_load(family, output)
        deadline = time.monotonic() + STARTING
        while "%]" not in output.read_text() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        try:
            yield
        finally:
            _stop(process)


def _start_load(family: Family, output: Path) -> subprocess.Popen[bytes]:
    for_ever = 'while :; do "$@"; done'
    command = [*OWN_SERVER, "sh", "-c", for_ever, "sh", *_pytest([*family, "-p", "no:cacheprovider"])]
    with output.open("wb") as file:
        return subprocess.Popen(
            command,
            env=_without_server(),
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _without_server() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a run and everything that it started. Pytest tears its fixtures down when it is interrupted."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOPPING)
            return


def _pytest(family: Family) -> list[str]:
    variables = variables_of(family)
    arguments = family[len(variables) :]
    return ["env", *variables, sys.executable, "-m", "pytest", "-p", "tests.flaky", *arguments]


def write_table(failures: Failures, again: Outcome) -> None:
    """Adds the failed tests to the table: how often each failed again, and why it failed at first."""
    lines = [
        f"{len(again.failures.get(test, []))} of {again.runs.get(test, 0)} more  {test}\n              {reasons[0]}"
        for test, reasons in failures.items()
    ]
    TABLE.parent.mkdir(exist_ok=True)
    with TABLE.open("a") as file:
        file.write("\n".join(["Failed beside other tests, then under the same load again:", *lines, ""]))


class FailureLog:
    """Counts the runs of each test and collects the reason for each failure. Writes both to the file that the
    environment names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failures: Failures = {}
        self.runs = Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            self.runs[report.nodeid] += 1
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message if crash else report.longreprtext
            first_line = next((line for line in reason.splitlines() if line.strip()), "no reason given")
            self.failures.setdefault(report.nodeid, []).append(first_line.strip()[:200])

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps([self.failures, self.runs]))


def pytest_configure(config: pytest.Config) -> None:
    path = os.environ.get(FAILURES_TO)
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailureLog(Path(path)))


def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Runs a test as often as the environment says, but begins no run after the seconds that it names.

    Every run has new fixtures, including those of the session: what a failure leaves behind must not fail the next run.
    """
    times = int(os.environ.get(REPEAT, "1"))
    if times == 1:
        return None
    ends = time.monotonic() + float(os.environ[SHARE])
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for number in range(times):
        if number > 0 and time.monotonic() >= ends:
            break
        runtestprotocol(item, nextitem=None)  # without a next item, pytest keeps no fixture
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
