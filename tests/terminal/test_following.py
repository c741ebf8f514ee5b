"""The feed at the terminal: every change once, in order, also when the server is replaced meanwhile."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from orders.models import Event
from tests.support.client_webhooks import order_of
from tests.support.people import token_of
from tests.support.wait import until
from tests.support.webhook import webhook
from tests.terminal.command import Terminal
from tests.web.following import about, happen
from tests.web.helpers import change_state
from tests.web.server import Server

EVENTS = 7


class Shift:
    """A server that another one replaces, at the same address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers: list[Server] = []

    def begin(self) -> Server:
        """Starts the next server and waits until it answers."""
        port = self._servers[0].port if self._servers else 0
        log = self._folder / f"server-{len(self._servers)}.log"
        server = Server(log, port=port, **about("shift"))
        self._servers.append(server)
        until(server.answers, what="the server")
        return server

    def end(self) -> None:
        """Ends every server."""
        for server in self._servers:
            server.end()


@pytest.fixture
def shift(transactional_db: None, tmp_path: Path) -> Iterator[Shift]:
    shift = Shift(tmp_path)
    yield shift
    shift.end()


def ids_in(text: str) -> list[int]:
    """The ids of the changes on the pages that are printed."""
    return [change["id"] for line in text.splitlines() for change in json.loads(line)["results"]]


def ids_of(*order_ids: UUID) -> list[int]:
    """The ids of all that has happened to these orders, in order."""
    return list(Event.objects.filter(order_id__in=order_ids).order_by("id").values_list("id", flat=True))


def test_pages_follow_one_another_from_a_cursor(terminal: Terminal, ada: User) -> None:
    """More changes than a page has. Each cursor that is printed goes on behind what was shown before it."""
    order_id = order_of(ada)
    for _ in range(130):
        happen(order_id, silently=True)
    ran = terminal.run("changes", "--json")
    assert ran.status == 0, ran.err
    assert ids_in(ran.out) == ids_of(order_id)
    assert len(ran.lines) == 2
    cursor = ran.err.strip().partition("--after=")[2]
    happen(order_id)
    (line,) = terminal.run("changes", f"--after={cursor}").lines
    assert f"  {order_id}  step_started" in line


def test_who_follows_misses_nothing_while_the_server_is_replaced(
    ada: User, shift: Shift, tmp_path: Path
) -> None:
    """The feed, an order's stream and what is forwarded: each goes on where it was."""
    server = shift.begin()
    terminal = Terminal(f"http://127.0.0.1:{server.port}", token_of(ada), tmp_path)
    order_id, other = order_of(ada), order_of(ada)
    try:
        with webhook() as receiver:
            feed = terminal.start("changes", "--follow", "--json", "--patience", "170")
            order = terminal.start("orders", "follow", order_id, "--json", "--patience", "170")
            listening = terminal.start("listen", "--forward-to", receiver.url, "--patience", "170")
            order.until_says('"state":"pending"')
            listening.until_says("Ready.")
            begun = len(ids_of(order_id, other))
            for _ in range(EVENTS):
                happen(order_id)
            until(lambda: len(ids_in(feed.out)) == len(ids_of(order_id, other)), what="the first changes")
            server.end()
            for _ in range(EVENTS):
                happen(order_id)
                happen(other)
            for command in (feed, order, listening):
                command.until_says("trying again")
            shift.begin()
            change_state(order_id, "processed")
            happen(order_id)
            ran = order.end()
            assert ran.status == 0, ran.err
            expected = ids_of(order_id, other)
            until(lambda: len(ids_in(feed.out)) == len(expected), what="the last changes")
            until(lambda: len(receiver.received) == len(expected) - begun, what="the last messages")
            assert ids_in(feed.interrupt().out) == expected
            assert [message["data"]["id"] for message in receiver.received] == expected[begun:]
    finally:
        terminal.end()
    versions: list[Any] = [json.loads(line)["version"] for line in ran.lines]
    assert len(versions) == len(set(versions))
    assert json.loads(ran.lines[-1])["state"] == "processed"
