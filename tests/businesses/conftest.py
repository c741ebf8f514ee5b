"""The laboratory beside the shop. When a test fails, the report has the output of its processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

if "examples.lab" not in settings.BUSINESSES:
    raise pytest.UsageError("tests/businesses needs BUSINESSES=orders.shop,examples.lab")

from orders.testing import StandIn
from tests.businesses.lab_system import HeldLaboratory, LabSystem
from tests.failures.conftest import pytest_runtest_makereport as pytest_runtest_makereport


@pytest.fixture
def system(transactional_db: None, tmp_path: Path) -> Iterator[LabSystem]:
    """The system with running stand-ins and no role yet. Every process ends with the test."""
    laboratory = HeldLaboratory()
    with StandIn(laboratory.app) as stand_in, stand_in.away() as nowhere:
        running = LabSystem(tmp_path, laboratory, stand_in, nowhere)
        yield running
        running.end()
