"""Real processes against a real database. When a test fails, the report has their output."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tests.failures.web_shop import Shop
from tests.support.own_database import OwnDatabase, own_database
from tests.support.proxy import DatabaseProxy
from tests.support.system import System


@pytest.fixture
def system(transactional_db: None, tmp_path: Path) -> Iterator[System]:
    """The system with a running sandbox and no role yet. Every process ends with the test."""
    running = System(tmp_path)
    yield running
    running.end()


@pytest.fixture
def shop(system: System, tmp_path: Path) -> Iterator[Shop]:
    """The shop's web, which the test starts. Every server ends with the test."""
    shop = Shop(system, tmp_path)
    yield shop
    shop.end()


@pytest.fixture
def proxy(transactional_db: None) -> Iterator[DatabaseProxy]:
    """A proxy in front of the ordinary test database."""
    at = connection.settings_dict
    proxy = DatabaseProxy(Path(at["HOST"]), at["PORT"] or "5432", url=(at["USER"], at["NAME"]))
    yield proxy
    proxy.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """Adds the last output of each process to the report of a failure."""
    report = yield
    system = getattr(item, "funcargs", {}).get("system")
    if report.when == "call" and report.failed and isinstance(system, System):
        report.sections.append(("processes", system.logs()))
    return report


@pytest.fixture(scope="module")
def database(django_db_blocker: DjangoDbBlocker) -> Iterator[OwnDatabase]:
    """A PostgreSQL server of the module's own."""
    with django_db_blocker.unblock(), own_database(settings={"max_connections": "60"}) as database:
        yield database
