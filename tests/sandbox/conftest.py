"""A sandbox that a test may end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.process import Sandbox


@pytest.fixture
def own_sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox of the test's own, which it may end."""
    running = Sandbox(tmp_path / "var")
    yield running
    if running.is_running():
        running.end()
