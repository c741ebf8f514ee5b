"""What every family of tests may ask for."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate

from orders.engine.runtime.sql import run
from tests.support.two_sessions import BAD_PLANS, Session


def _take_your_time(using: str, **_: Any) -> None:
    """`manage.py migrate` lifts the limit of a transaction for itself; so does making the tests' database."""
    with connections[using].cursor() as cursor:
        cursor.execute("SET transaction_timeout = 0")


def _hurry_again(using: str, **_: Any) -> None:
    with connections[using].cursor() as cursor:
        cursor.execute("RESET transaction_timeout")


pre_migrate.connect(_take_your_time)
post_migrate.connect(_hurry_again)


@pytest.fixture(params=BAD_PLANS.values(), ids=BAD_PLANS.keys())
def switched_off(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Planner settings to switch off, one set after the other."""
    return request.param


@pytest.fixture(autouse=True)
def without_second_factor(settings: Any) -> None:
    """Operators of the tests sign in by password alone, unless a test is about their second factor."""
    settings.REQUIRE_SECOND_FACTOR = False


@pytest.fixture(autouse=True)
def unhurried(request: pytest.FixtureRequest) -> None:
    """Lifts the limits of time from the transaction that a test without `transaction=True` runs in.

    They are for the product's transactions, which are short; a whole test takes longer on a busy machine.
    """
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and not marker.kwargs.get("transaction"):
        request.getfixturevalue("db")
        run("SET LOCAL transaction_timeout = 0")
        run("SET LOCAL idle_in_transaction_session_timeout = 0")


@pytest.fixture(autouse=True)
def quick_hashing(settings: Any) -> None:
    """Passwords of the tests are hashed with Argon2 as those of the product are, but in a thousandth of the time."""
    settings.PASSWORD_HASHERS = ["tests.support.people.QuickHasher"]


@pytest.fixture
def new_session(transactional_db: None) -> Iterator[Callable[[], Session]]:
    """Opens sessions whose steps the test puts in order; what they left open is rolled back at the end."""
    opened: list[Session] = []

    def open_one() -> Session:
        opened.append(Session())
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()
