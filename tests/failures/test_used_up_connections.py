"""While PostgreSQL has no connection left, a web process that needs one says so soon, and goes on once there is one."""

import time
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from orders.shop.models import Product
from sasweb.database_circuit import DatabaseCircuit, ask_the_database
from tests.support.own_database import OwnDatabase
from tests.support.wait import until
from tests.web.server import Answer, Server

AT_MOST = 10.0
"""Seconds in which everybody has an answer."""


@pytest.fixture
def server(database: OwnDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    Product.objects.create(sku="first-sun", title="First Sun", artist="Oriol B.", price=4900)
    server = Server(
        tmp_path_factory.mktemp("web") / "log",
        database_url=database.server.url,
        application="tests.web.few_threads:application",
        SECRET_KEY=settings.SECRET_KEY,
    )
    try:
        until(
            lambda: server.answers() and server.request("GET", "/", timeout=60).status == 200, what="the web"
        )
        yield server
    finally:
        server.end()
        Product.objects.all().delete()


class Crowd:
    """Somebody else, who has all of the database's connections once `take_all` has returned."""

    def __init__(self, database: OwnDatabase) -> None:
        self._url = database.server.url
        self._held: list[psycopg.Connection] = []

    def take_all(self) -> None:
        """Takes every connection, also those that others had: they are cut off."""
        connection.close()
        until(self._has_all, what="all connections")

    def release(self) -> None:
        for session in self._held:
            session.close()
        self._held.clear()

    def _has_all(self) -> bool:
        try:
            while True:
                self._held.append(psycopg.connect(self._url, autocommit=True))
        except psycopg.OperationalError as error:
            assert "too many clients already" in str(error)
        own = [session.info.backend_pid for session in self._held]
        others = self._held[0].execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> ALL(%s)",
            [own],
        )
        return not others.fetchall()


@pytest.fixture
def crowd(database: OwnDatabase) -> Iterator[Crowd]:
    crowd = Crowd(database)
    yield crowd
    crowd.release()


@pytest.mark.pattern("F2")
def test_who_gets_no_connection_is_answered_503_soon_and_served_once_there_are_some_again(
    server: Server, crowd: Crowd
) -> None:
    crowd.take_all()
    for path in ("/", "/posters/first-sun/", "/api/v1/products"):
        answer, seconds = timed(server, path)
        assert (answer.status, seconds < AT_MOST) == (503, True), (path, seconds)
        assert int(answer.headers["retry-after"]) > 0
    for path in ("/healthz", "/static/css/tokens.css"):
        assert server.request("GET", path, timeout=60).status == 200
    crowd.release()
    begun = time.monotonic()
    until(lambda: server.request("GET", "/", timeout=60).status == 200, what="the catalogue")
    assert time.monotonic() - begun < AT_MOST


@pytest.mark.pattern("F2")
def test_a_database_without_a_connection_left_is_not_taken_for_one_that_is_down(
    database: OwnDatabase, crowd: Crowd
) -> None:
    """Whoever has a connection goes on: the waits of the API and the streams of pages are not ended."""
    crowd.take_all()
    signs: list[str] = []

    def ask() -> None:
        ask_the_database()
        signs.append("it lives")

    circuit = DatabaseCircuit(ask)
    circuit.suspect()
    until(lambda: bool(signs) or circuit.is_open, what="a sign of life")
    assert (signs, circuit.is_open) == (["it lives"], False)
    crowd.release()
    database.crash()
    with pytest.raises(psycopg.OperationalError):
        ask_the_database()
    database.start()


def timed(server: Server, path: str) -> tuple[Answer, float]:
    begun = time.monotonic()
    answer = server.request("GET", path, timeout=60)
    return answer, time.monotonic() - begun
