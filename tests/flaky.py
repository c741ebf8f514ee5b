"""Runs a family of tests, and looks closely at what fails: ten more times, under the same load.

    python -m tests.flaky [PYTEST ARGUMENT …]     runs the family
    python -m tests.flaky --table                 prints the table of the tests that failed, and why

A test that fails beside other tests and passes alone has not been proved right: what makes it fail is load, and load is
what this product is about. So a test that failed runs ten more times while the whole family runs again beside it. If it
fails once more, the run has failed. If it does not, the run goes on, and the test is in the table, which is printed at
the end and kept in `reports/flaky.txt`. Every line of that table is a bug in a test or in the product.

The exit status is pytest's own, or 1 if a test failed again.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "reports" / "flaky.txt"
TIMES = 10
MOST = 20
"""More failures than this are no matter of chance, and running each ten more times would take an hour."""
FAILURES_TO, REPEAT = "SAS_FAILURES_TO", "SAS_REPEAT"
STARTING, STOPPING = 180.0, 60.0
"""Seconds that the second run may take until its first test runs, and to end when it is told to."""

Failures = dict[str, list[str]]
"""The reason of each failure of a test, by the test's id."""


def main(arguments: Sequence[str]) -> int:
    """Runs the family and then what failed; gives the exit status."""
    if list(arguments) == ["--table"]:
        print(TABLE.read_text() if TABLE.exists() else "No test failed beside the others.")
        return 0
    status, failures = run(arguments)
    if status != pytest.ExitCode.TESTS_FAILED:
        return status
    if len(failures) > MOST:
        print(f"sasweb: {len(failures)} tests failed: too many to be a matter of load", file=sys.stderr)
        return status
    print(
        f"sasweb: {len(failures)} failed; each runs {TIMES} more times under the same load", file=sys.stderr
    )
    with load(arguments):
        status, again = run([*failures, "-n", "0"], repeat=TIMES)
    write_table(failures, again)
    return status


def run(arguments: Sequence[str], *, repeat: int = 1) -> tuple[int, Failures]:
    """Runs pytest; gives its exit status and what failed."""
    with TemporaryDirectory(prefix="sasweb-failures-") as folder:
        path = Path(folder) / "failures.json"
        env = {**os.environ, FAILURES_TO: str(path), REPEAT: str(repeat)}
        status = subprocess.run(_pytest(arguments), env=env, check=False).returncode
        return status, json.loads(path.read_text()) if path.exists() else {}


@contextlib.contextmanager
def load(arguments: Sequence[str]) -> Iterator[None]:
    """Runs the same family again and again meanwhile, on a database server of its own. How it ends does not matter."""
    with TemporaryDirectory(prefix="sasweb-load-") as folder:
        output = Path(folder) / "output"
        process = _start_load(arguments, output)
        deadline = time.monotonic() + STARTING
        while "%]" not in output.read_text() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        try:
            yield
        finally:
            _stop(process)


def _start_load(arguments: Sequence[str], output: Path) -> subprocess.Popen[bytes]:
    for_ever = 'while :; do "$@"; done'
    command = [sys.executable, "-m", "sasweb.embedded_postgres", "--", "sh", "-c", for_ever, "sh"]
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    with output.open("wb") as file:
        return subprocess.Popen(
            [*command, *_pytest([*arguments, "-p", "no:cacheprovider"])],
            env=env,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a run and everything that it started. When interrupted, pytest tears its fixtures down."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOPPING)
            return


def _pytest(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "tests.flaky", *arguments]


def write_table(failures: Failures, again: Failures) -> None:
    """Adds the tests that failed to the table: how often they failed again, and why they failed at first."""
    lines = [
        f"{len(again.get(test, []))} of {TIMES} more  {test}\n              {reasons[0]}"
        for test, reasons in failures.items()
    ]
    TABLE.parent.mkdir(exist_ok=True)
    with TABLE.open("a") as file:
        file.write("\n".join(["Failed beside other tests, then under the same load again:", *lines, ""]))


class FailureLog:
    """Collects the reason of each failure, and writes them to the file that the environment names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failures: Failures = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message if crash else report.longreprtext
            first_line = next((line for line in reason.splitlines() if line.strip()), "no reason given")
            self.failures.setdefault(report.nodeid, []).append(first_line.strip()[:200])

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.failures))


def pytest_configure(config: pytest.Config) -> None:
    path = os.environ.get(FAILURES_TO)
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailureLog(Path(path)))


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test as often as the environment says, each time with new fixtures of its own."""
    times = _times(os.environ)
    if times == 1:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for time_left in reversed(range(times)):
        # To pytest the next item is the one whose fixtures are kept: the parent's, until the last time.
        following: Any = item.parent if time_left else nextitem
        runtestprotocol(item, nextitem=following)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _times(environment: Mapping[str, str]) -> int:
    return int(environment.get(REPEAT, "1"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
