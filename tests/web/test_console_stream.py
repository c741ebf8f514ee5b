"""The console's live updates by the real server: operators are told that something has changed, and nobody else is."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django_otp.plugins.otp_totp.models import TOTPDevice

from orders.access import sessions
from tests.support.factories import make_order
from tests.support.people import person, signed_in
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.following import happen
from tests.web.server import Server
from tests.web.sse import Stream

pytestmark = pytest.mark.django_db(transaction=True)

CONSOLE = "/events/console/"


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("console")
    one = Server(folder / "log", database_url=database_url(), REQUIRE_SECOND_FACTOR="false")
    try:
        until(one.answers, what="the server")
        yield one
        one.stop()
        assert "Traceback" not in one.log.read_text()
    finally:
        one.end()


@pytest.fixture
def streams() -> Iterator[list[Stream]]:
    opened: list[Stream] = []
    yield opened
    for stream in opened:
        stream.close()


def cookie(client: Client) -> str:
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def status(server: Server, client: Client | None) -> int:
    headers = {"Cookie": cookie(client)} if client else {}
    stream = Stream(server, CONSOLE, **headers).open(seconds=30)
    stream.close()
    return stream.status


@pytest.mark.pattern("O1")
def test_an_operator_is_notified_of_a_change(server: Server, streams: list[Stream]) -> None:
    order = make_order()
    stream = Stream(server, CONSOLE, Cookie=cookie(signed_in(person("viewer")))).open(seconds=30)
    streams.append(stream)
    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
    first = stream.next_version(seconds=30)
    happen(order.order_id)
    told = stream.next_version(seconds=30)
    # The last part changes by itself with time; the first ones are what has happened.
    while told.version.rsplit("-", 1)[0] == first.version.rsplit("-", 1)[0]:
        told = stream.next_version(seconds=30)
    assert told.fields["event"] == "progress"


def test_nobody_else_is_notified(server: Server) -> None:
    assert status(server, None) == 404
    assert status(server, signed_in(person("customer"))) == 404


def test_a_session_that_has_ended_or_lacks_its_second_factor_is_not_notified(server: Server) -> None:
    user = person("operator")
    client = signed_in(user)
    assert status(server, client) == 200
    TOTPDevice.objects.create(user=user, name="default", confirmed=True)
    assert status(server, client) == 404
    TOTPDevice.objects.all().delete()
    session = client.session
    session[sessions.SINCE] = session[sessions.SEEN] = time.time() - 86_400
    session.save()
    assert status(server, client) == 404
