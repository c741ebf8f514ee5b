"""A short soak; `bin/soak` runs long ones."""

from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.soak.soak import Plan, Soak
from tests.support.own_database import own_database
from tests.support.system import System


@pytest.mark.pattern("C9", "T1", "V6", "F21", "F22", "F23")
def test_a_short_soak_violates_no_invariant(django_db_blocker: DjangoDbBlocker, tmp_path: Path) -> None:
    """After half a minute of every fault, every order has ended correctly."""
    with django_db_blocker.unblock(), own_database() as database:
        system = System(tmp_path, DATABASE_URL=database.url, STEP_COMPLETE_BY="10")
        soak = Soak(
            plan=Plan(seconds=20, orders=60, seed=20_261_122, pause=1.0), system=system, database=database
        )
        try:
            report = soak.run()
        except AssertionError as error:
            raise AssertionError(f"{str(error)[:3000]}\n{soak.report.done}\n{system.logs()}") from None
        finally:
            system.end()
    assert sum(report.states.values()) == 60
