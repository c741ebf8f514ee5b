"""The laboratory's stand-in, for its tests."""

from collections.abc import Iterator

import pytest
from django.conf import settings

from orders.testing import StandIn

if "examples.lab" not in settings.BUSINESSES:
    raise pytest.UsageError("the tests of examples.lab need BUSINESSES=orders.shop,examples.lab")

from examples.lab.standin import Laboratory

pytest_plugins = ["orders.testing.plugin"]


@pytest.fixture
def laboratory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Laboratory]:
    """The remote services, where the agents find them."""
    laboratory = Laboratory()
    with StandIn(laboratory.app) as stand_in:
        monkeypatch.setenv("LAB_INSTRUMENTS_URL", f"{stand_in.url}/instruments")
        monkeypatch.setenv("LAB_REPORTS_URL", f"{stand_in.url}/reports")
        yield laboratory
