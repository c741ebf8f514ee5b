"""Fixtures for all tests."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from orders.engine.runtime import brief_batches
from orders.engine.runtime.statements import prepare_statements
from sasweb import database
from tests.support.two_sessions import BAD_PLANS, Session

REAL_LONGEST = brief_batches.LONGEST


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Gives the transactions of the test processes two minutes. The product's own processes keep their 5 s.

    A quick transaction may take longer than 5 s on a busy machine, and some tests are one transaction from end to end.
    """
    prepare_statements()
    options = connections["default"].settings_dict["OPTIONS"]
    options["options"] = options["options"].replace("timeout=5s", "timeout=120s")
    database.LIMIT_IN_MS = 120_000


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Lets the test database be emptied between tests, which the audit log otherwise refuses."""
    with django_db_blocker.unblock(), connections["default"].cursor() as cursor:
        cursor.execute(
            "ALTER TABLE orders_auditentry DISABLE TRIGGER audit_is_not_truncated;"
            "ALTER TABLE orders_auditlink DISABLE TRIGGER audit_links_are_not_truncated"
        )


@pytest.fixture(params=BAD_PLANS.values(), ids=BAD_PLANS.keys())
def switched_off(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Planner settings to switch off; the test runs once for each set."""
    return request.param


@pytest.fixture(autouse=True)
def without_second_factor(settings: Any) -> None:
    """Lets operators sign in by password alone, unless a test is about their second factor."""
    settings.REQUIRE_SECOND_FACTOR = False


@pytest.fixture(autouse=True)
def quick_hashing(settings: Any) -> None:
    """Hashes passwords with Argon2 as the product does, but in a thousandth of the time."""
    settings.PASSWORD_HASHERS = ["tests.support.people.QuickHasher"]


@pytest.fixture(autouse=True)
def unlisted_static_files(settings: Any) -> None:
    """Looks for a static file when it is asked for.

    The product lists them all whenever middleware is loaded, and each test client loads it anew.
    """
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(autouse=True)
def unhurried_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives a brief batch of retention and erasure ten seconds: on a busy machine any may take more than 100 ms."""
    monkeypatch.setattr(brief_batches, "LONGEST", 10.0)


@pytest.fixture
def brief_limit(unhurried_batches: None, monkeypatch: pytest.MonkeyPatch) -> float:
    """Limits a brief batch to ten times what the product allows, so that a busy machine alone does not exceed it. What
    is slow in the tests of that limit is slower still."""
    limit = 10 * REAL_LONGEST
    monkeypatch.setattr(brief_batches, "LONGEST", limit)
    return limit


@pytest.fixture
def new_session(transactional_db: None) -> Iterator[Callable[[], Session]]:
    """Opens sessions whose steps the test puts in order; rolls back open transactions at the end."""
    opened: list[Session] = []

    def open_session() -> Session:
        opened.append(Session())
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()
