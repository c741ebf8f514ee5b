"""Fixtures for all tests."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from orders.engine.runtime import brief_batches
from tests.support.emptying import empty_tables
from tests.support.two_sessions import BAD_PLANS, Session

pytest_plugins = ["orders.testing.plugin", "tests.support.sandboxes"]
REAL_LONGEST = brief_batches.LONGEST

TransactionTestCase._fixture_teardown = empty_tables  # type: ignore[attr-defined]
hypothesis_settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # how fast a busy machine makes examples says nothing about the code
hypothesis_settings.load_profile("any machine")


def pytest_collection_finish() -> None:
    """Spares each search for garbage the thousands of tests, which stay to the end."""
    gc.collect()
    gc.freeze()


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
