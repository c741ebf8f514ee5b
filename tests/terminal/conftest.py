"""A web server, and somebody at a terminal who has a token for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from orders.shop.models import Product
from tests.support.people import token_of
from tests.terminal.command import Terminal
from tests.web.following import about, started
from tests.web.server import Server


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from started(Server(tmp_path_factory.mktemp("terminal") / "log", **about("terminal")))


@pytest.fixture
def ada(transactional_db: None) -> User:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="Maren Oost", price=3900)
    return User.objects.create_user("ada", "ada@example.com")


@pytest.fixture
def terminal(ada: User, server: Server, tmp_path: Path) -> Iterator[Terminal]:
    """Ada, at a terminal in `tmp_path`."""
    terminal = Terminal(f"http://127.0.0.1:{server.port}", token_of(ada), tmp_path)
    yield terminal
    terminal.end()
