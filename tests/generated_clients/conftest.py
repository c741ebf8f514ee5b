"""A running shop with its document, and the generators of clients in their own environment (`.venv-clients`)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from orders.engine.runtime.sql import fetch
from orders.vocabulary import TokenScope
from tests.failures.conftest import pytest_runtest_makereport as pytest_runtest_makereport
from tests.support.people import token_of
from tests.support.system import System, database_url
from tests.support.wait import until
from tests.web.server import Server

HERE = Path(__file__).parent
HOME = HERE.parents[1] / ".venv-clients"
DOCUMENT = "openapi.json"
LONGEST = 240.0
"""Seconds that a program or a request may take on a busy machine."""


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """A folder in which a client is made from the document of a running shop, and then used."""

    folder: Path
    url: str
    token: str
    system: System

    def bring(self, name: str) -> None:
        """Copies a file of this folder, where the generated code can be imported."""
        shutil.copy(HERE / name, self.folder)

    def run(self, *command: str | Path) -> str:
        """Runs a program to its end, those of the generators before others. It must succeed; returns its output."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={
                **os.environ,
                "PATH": f"{HOME / 'bin'}:{HOME / 'node_modules' / '.bin'}:{os.environ['PATH']}",
                "ORDERS_URL": self.url,
                "ORDERS_TOKEN": self.token,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}"
        return done.stdout

    def check_types(self, name: str) -> None:
        """Checks a Python file as strictly as mypy can, without what it imports."""
        options = ("--strict", "--follow-imports=silent", "--config-file=")
        packages = f"--python-executable={HOME / 'bin' / 'python'}"
        self.run(sys.executable, "-m", "mypy", *options, packages, name)

    def play(self, *command: str) -> None:
        """Runs a program that uses the client: with `cancel` while no role runs, then with `order` while all do."""
        self.run(*command, "cancel")
        self.system.start_all()
        self.run(*command, "order")
        orders = fetch("SELECT id FROM orders_order ORDER BY placed_at")
        self.system.acknowledged += [UUID(str(order_id)) for (order_id,) in orders]
        assert self.system.wait_until_ended() == ["compensated", "processed", "processed"]
        self.system.check()


@pytest.fixture
def system(transactional_db: None, tmp_path: Path) -> Iterator[System]:
    """The system without a role yet. Whoever has to pay in another way has ten minutes for it."""
    running = System(tmp_path, CUSTOMER_WAIT="600", ORDER_COMPLETE_BY="900")
    yield running
    running.end()


@pytest.fixture
def workshop(system: System, tmp_path: Path) -> Iterator[Workshop]:
    """A shop, a token that may place orders, and a folder with the shop's document."""
    if not (HOME / "generators.stamp").exists():
        pytest.fail("the generators are not there; bin/test tests/generated_clients installs them")
    server = Server(
        tmp_path / "web.log",
        database_url=database_url(),
        VAR_DIR=str(tmp_path),
        SECRET_KEY=system.environment["SECRET_KEY"],
    )
    token = token_of(User.objects.create(username="generated"), TokenScope.ORDERS)
    folder = tmp_path / "workshop"
    folder.mkdir()
    try:
        until(server.answers, what="the web server")
        headers = {"Accept": "application/json"}
        answer = server.request("GET", "/api/schema/", headers=headers, timeout=LONGEST)
        assert answer.status == 200, answer
        (folder / DOCUMENT).write_bytes(answer.body)
        yield Workshop(folder=folder, url=f"http://127.0.0.1:{server.port}", token=token, system=system)
    finally:
        server.end()
