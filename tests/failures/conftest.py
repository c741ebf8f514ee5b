"""Real processes against a real database; what they said is printed when a test fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.system import System


@pytest.fixture
def system(transactional_db: None, tmp_path: Path) -> Iterator[System]:
    """The system, with its sandbox running and no role yet. Everything is gone after the test."""
    running = System(tmp_path)
    yield running
    running.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """Adds the processes' last words to a failure's report."""
    report = yield
    system = getattr(item, "funcargs", {}).get("system")
    if report.when == "call" and report.failed and isinstance(system, System):
        report.sections.append(("processes", system.logs()))
    return report
