"""Connections of clients that send half a request, or do not read the answer, neither stop the web nor fill its log."""

import resource
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from tests.support.system import database_url
from tests.support.wait import until
from tests.web.following import EACH, as_guest, happen, many_orders
from tests.web.raw_requests import assert_problem, read_answer
from tests.web.server import Server, running
from tests.web.sse import Stream

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/api/v1/products"
HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_A_BODY = b"POST /api/v1/orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
CHUNKS = b"POST /api/v1/orders HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
BUNDLE = b"GET /static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module", autouse=True)
def descriptors() -> Iterator[None]:
    """Lets this process have enough connections, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def brief(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with short times."""
    log = tmp_path_factory.mktemp("brief") / "log"
    with running(Server(log, database_url=database_url(), config="tests.web.brief_connections")) as server:
        yield server


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """Keeps connections open until the end of the test."""
    with ExitStack() as stack:
        yield stack


def send(clients: ExitStack, server: Server, request: bytes, count: int) -> list[socket.socket]:
    """Sends this on each of so many connections, many of them at once."""

    def connect(_: int) -> socket.socket:
        connection = server.connect()
        connection.sendall(request)
        return connection

    with ThreadPoolExecutor(32) as threads:
        return [clients.enter_context(connection) for connection in threads.map(connect, range(count))]


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection on which it has sent nothing."""
    connection.settimeout(10)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def follow(clients: ExitStack, server: Server, order_id: UUID) -> Stream | None:
    """Opens a stream; None if the server refuses it."""
    stream = Stream(server, as_guest(order_id)).open()
    clients.callback(stream.close)
    return stream if stream.status == 200 else None


def test_hundreds_of_half_sent_requests_are_closed_and_the_page_answers_meanwhile(
    brief: Server, catalogue: None, clients: ExitStack
) -> None:
    half = send(clients, brief, HALF, 500)
    assert brief.request("GET", PAGE, timeout=15.0).status == 200
    assert all(is_closed(connection) for connection in half)
    until(lambda: brief.connections() == 0, what="the end of every connection")


def test_a_request_that_stops_after_an_earlier_one_was_answered_is_closed(brief: Server) -> None:
    with brief.connect() as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + HALF)
        assert raw.recv(65_536).endswith(b"ok\n")
        assert is_closed(raw)


def test_a_client_that_reads_nothing_is_disconnected(brief: Server, clients: ExitStack) -> None:
    until(lambda: brief.connections() == 0, what="the end of the connections before")
    for _ in range(20):
        raw = clients.enter_context(socket.socket())
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", brief.port))
        raw.sendall(BUNDLE * 8)  # more than the kernel buffers for the client
    assert brief.connections() == 20
    until(lambda: brief.connections() == 0, what="the end of every connection")


def test_a_full_server_drops_who_is_waiting_and_then_refuses_but_ends_no_request_that_it_answers(
    ada: APIClient, tmp_path: Path, clients: ExitStack
) -> None:
    """Room for eight connections."""
    order_ids = many_orders(ada, 2 * EACH)
    config = "tests.web.few_connections"
    with running(Server(tmp_path / "log", database_url=database_url(), config=config)) as server:
        half = [send(clients, server, HALF, 1)[0] for _ in range(8)]
        streams = [follow(clients, server, order_id) for order_id in order_ids[:7]]
        assert all(streams)
        assert all(is_closed(connection) for connection in half[:7])
        half[7].sendall(b"-\r\n\r\n")
        assert half[7].recv(65_536).startswith(b"HTTP/1.1 200 ")
        streams.append(until(lambda: follow(clients, server, order_ids[7]), what="the end of that request"))
        with server.connect() as refused:
            answer = read_answer(refused)
            assert_problem(answer, "unavailable")
            assert (answer.status, int(answer.headers["retry-after"]) > 0) == (503, True)
        for order_id in set(order_ids):
            happen(order_id)
        assert all(stream and stream.next_version() for stream in streams)


def test_a_body_in_thousands_of_tiny_chunks_is_refused(catalogue: None, brief: Server) -> None:
    with brief.connect() as connection:
        connection.sendall(CHUNKS)
        with suppress(ConnectionError):
            for _ in range(1_000):
                connection.sendall(b"1\r\na\r\n" * 10_000)
        answer = connection.recv(65_536)  # what follows may be a reset, since the server reads no further
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"The request is not valid HTTP: the body comes in too many small pieces." in answer
    assert brief.request("GET", PAGE).status == 200


def test_a_body_in_some_tiny_chunks_or_many_large_ones_is_read(catalogue: None, brief: Server) -> None:
    body = b'{"workflow": "fulfil-order"}'
    with brief.connect() as connection:
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body + b" " * 3_000)
        connection.sendall(CHUNKS + chunks + b"0\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 401 ")
    with brief.connect() as connection:
        connection.sendall(CHUNKS + (b"400\r\n" + b" " * 1_024 + b"\r\n") * 10_000 + b"0\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 401 ")


def test_more_connections_than_descriptors_stop_nothing_and_fill_no_log(
    catalogue: None, tmp_path: Path, clients: ExitStack
) -> None:
    server = Server(tmp_path / "log", database_url=database_url(), descriptors=1024)
    try:
        until(server.answers, what="the server")
        for request in (HALF, HALF_A_BODY):
            send(clients, server, request, 1050)
            for _ in range(3):
                assert server.request("GET", PAGE, timeout=15.0).status == 200
    finally:
        server.end()
    log = server.log.read_text()
    assert log.count("\n") < 20, log
    assert "system resource" not in log, log
    assert log.count("LimitNOFILE") == 1, log
