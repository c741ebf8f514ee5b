"""Real processes against a real database; what they said is printed when a test fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.support.proxy import DatabaseProxy
from tests.support.system import System


@pytest.fixture
def system(transactional_db: None, tmp_path: Path) -> Iterator[System]:
    """The system, with its sandbox running and no role yet. Everything is gone after the test."""
    running = System(tmp_path)
    yield running
    running.end()


@pytest.fixture
def proxy(transactional_db: None) -> Iterator[DatabaseProxy]:
    """In front of the ordinary test database."""
    at = connection.settings_dict
    proxy = DatabaseProxy(Path(at["HOST"]), at["PORT"] or "5432", url=(at["USER"], at["NAME"]))
    yield proxy
    proxy.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """Adds the processes' last words to a failure's report."""
    report = yield
    system = getattr(item, "funcargs", {}).get("system")
    if report.when == "call" and report.failed and isinstance(system, System):
        report.sections.append(("processes", system.logs()))
    return report
