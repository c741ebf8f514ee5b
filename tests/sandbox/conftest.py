"""One sandbox for all tests that do not end it. Each test starts without faults."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.process import Sandbox


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    running = Sandbox(tmp_path_factory.mktemp("sandbox"))
    yield running
    running.end()


@pytest.fixture
def sandbox(shared: Sandbox) -> Iterator[Sandbox]:
    """The shared sandbox, without faults before and after."""
    shared.ask("DELETE", "/_faults")
    yield shared
    shared.ask("DELETE", "/_faults")


@pytest.fixture
def own_sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox of the test's own, which it may end."""
    running = Sandbox(tmp_path / "var")
    yield running
    if running.is_running():
        running.end()
