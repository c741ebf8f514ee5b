"""The laboratory's stand-in, for its tests."""

from collections.abc import Iterator

import pytest
from django.conf import settings

from orders.testing import StandIn

if "examples.lab" not in settings.BUSINESSES:
    raise pytest.UsageError("the tests of examples.lab need BUSINESSES=orders.shop,examples.lab")

from examples.lab.standin import OPERATIONS, Laboratory

pytest_plugins = ["orders.testing.plugin"]


@pytest.fixture
def laboratory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Laboratory]:
    """The remote services, where the agents find them. Nobody is there whom they could call back."""
    laboratory = Laboratory()
    with StandIn(laboratory.app) as stand_in, stand_in.away() as nowhere:
        monkeypatch.setenv("PUBLIC_URL", nowhere)
        for service in OPERATIONS:
            monkeypatch.setenv(f"LAB_{service.upper()}_URL", f"{stand_in.url}/{service}")
        yield laboratory
