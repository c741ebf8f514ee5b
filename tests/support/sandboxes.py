"""The sandbox that tests call: one for each module, whose faults end with each test."""

from collections.abc import Iterator

import pytest

from tests.sandbox.process import Sandbox


@pytest.fixture(scope="module")
def running_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The process, which goes on from test to test."""
    running = Sandbox(tmp_path_factory.mktemp("sandbox"))
    yield running
    running.end()


@pytest.fixture
def sandbox(running_sandbox: Sandbox) -> Iterator[Sandbox]:
    """The same without faults. A test must not end it."""
    yield running_sandbox
    running_sandbox.ask("DELETE", "/_faults")
