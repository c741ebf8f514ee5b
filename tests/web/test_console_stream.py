"""The console's live updates from the real server: operators are notified of changes, and nobody else is."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from orders.access import sessions
from orders.models import TotpFactor
from tests.support.factories import make_order
from tests.support.people import person, signed_in
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.following import happen, session_cookie
from tests.web.server import Server
from tests.web.sse import Stream

pytestmark = pytest.mark.django_db(transaction=True)

CONSOLE = "/events/console/"


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("console")
    process = Server(folder / "log", database_url=database_url(), REQUIRE_SECOND_FACTOR="false")
    try:
        until(process.answers, what="the server")
        yield process
        process.stop()
        assert "Traceback" not in process.log.read_text()
    finally:
        process.end()


@pytest.fixture
def streams() -> Iterator[list[Stream]]:
    opened: list[Stream] = []
    yield opened
    for stream in opened:
        stream.close()


def status(server: Server, client: Client | None) -> int:
    headers = {"Cookie": session_cookie(client)} if client else {}
    stream = Stream(server, CONSOLE, **headers).open(seconds=30)
    stream.close()
    return stream.status


@pytest.mark.pattern("O1")
def test_an_operator_is_notified_of_a_change(server: Server, streams: list[Stream]) -> None:
    order = make_order()
    stream = Stream(server, CONSOLE, Cookie=session_cookie(signed_in(person("viewer")))).open(seconds=30)
    streams.append(stream)
    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
    first = stream.next_version(seconds=30)
    happen(order.order_id)
    update = stream.next_version(seconds=30)
    # The last part of a version changes with time; the others change when something happens.
    while update.version.rsplit("-", 1)[0] == first.version.rsplit("-", 1)[0]:
        update = stream.next_version(seconds=30)
    assert update.fields["event"] == "progress"


def test_nobody_else_is_notified(server: Server) -> None:
    assert status(server, None) == 404
    assert status(server, signed_in(person("customer"))) == 404


def test_a_session_that_has_ended_or_lacks_its_second_factor_is_not_notified(server: Server) -> None:
    user = person("operator")
    client = signed_in(user)
    assert status(server, client) == 200
    TotpFactor.objects.create(user=user, name="default", confirmed=True)
    assert status(server, client) == 404
    TotpFactor.objects.all().delete()
    session = client.session
    session[sessions.SINCE] = session[sessions.SEEN] = time.time() - 86_400
    session.save()
    assert status(server, client) == 404
