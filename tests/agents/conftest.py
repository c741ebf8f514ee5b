"""The sandbox that the agents call. Its faults end with each test."""

from collections.abc import Iterator

import pytest

from tests.sandbox.process import Sandbox


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    sandbox = Sandbox(tmp_path_factory.mktemp("sandbox"))
    yield sandbox
    sandbox.end()


@pytest.fixture
def sandbox(running: Sandbox) -> Iterator[Sandbox]:
    yield running
    running.ask("DELETE", "/_faults")
