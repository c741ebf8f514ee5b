"""What only the real server can get wrong: bodies of every kind, clients that leave, waiting, the orderly stop."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection
from rest_framework.test import APIClient

from orders.models import SubmissionMessage
from sasweb.embedded_postgres.server import temporary_server
from tests.support.order_bodies import BODY
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.helpers import ORDERS, place
from tests.web.server import Server

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"Content-Type": "application/json"}
MIB = 1024 * 1024
ORDER = json.dumps(BODY).encode()
NOWHERE = "postgresql://sasweb@/sasweb?host=%2Fnonexistent&port=5432"
SOON = 40.0


@pytest.fixture(scope="module")
def shared(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("web") / "log", database_url=database_url())
    until(server.answers, what="the server")
    yield server
    try:
        server.stop()
        log = server.log.read_text()
        assert "Traceback" not in log, log
        assert "WARNING" not in log, log
    finally:
        server.end()


@pytest.fixture
def server(shared: Server, ada: APIClient) -> Server:
    return shared


@pytest.fixture
def signed(ada: APIClient) -> dict[str, str]:
    """The headers of a client with a token."""
    return {"Authorization": f"Token {ada.token}"}


def workers_memory(server: Server) -> int:
    """The peak memory of the server's largest worker, in bytes."""
    lines = [
        line for pid in server.workers() for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    ]
    return max(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize(
    ("repeated", "status", "code"),
    [
        ([("Idempotency-Key", "k"), ("idempotency-key", "k")], 400, "validation_failed"),
        ([("Idempotency-Key", "k"), ("Idempotency-Key", "l")], 400, "validation_failed"),
        ([("Idempotency-Key", "k"), ("Idempotency-Key", "")], 400, "validation_failed"),
        ([("Authorization", "Token {token}")], 401, "invalid_token"),
        ([("Authorization", "Basic YTpi")], 401, "invalid_token"),
        ([("If-None-Match", '"a"'), ("If-None-Match", '"b"'), ("Idempotency-Key", "a,b")], 202, None),
    ],
)
def test_a_header_that_may_come_once_is_refused_twice(
    server: Server, ada: APIClient, repeated: list[tuple[str, str]], status: int, code: str | None
) -> None:
    lines = [
        f"POST {ORDERS} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        f"Content-Length: {len(ORDER)}",
    ]
    lines += ["Content-Type: application/json", f"Authorization: Token {ada.token}"]
    lines += [f"{name}: {value}".format(token=ada.token) for name, value in repeated]
    with server.connect() as raw:
        raw.sendall("\r\n".join([*lines, "", ""]).encode() + ORDER)
        head, _, body = b"".join(iter(lambda: raw.recv(65_536), b"")).partition(b"\r\n\r\n")
    assert (int(head.split()[1]), json.loads(body).get("code")) == (status, code)
    if code == "validation_failed":
        assert [error["header"] for error in json.loads(body)["errors"]] == ["Idempotency-Key"]
    assert SubmissionMessage.objects.count() == (status == 202)


def test_an_order_is_placed_and_read(server: Server, signed: dict[str, str]) -> None:
    placed = server.request("POST", ORDERS, body=json.dumps(BODY).encode(), headers={**JSON, **signed})
    assert placed.status == 202, placed.body
    read = server.request("GET", placed.headers["location"], headers=signed)
    assert (read.status, read.json) == (200, placed.json)
    assert SubmissionMessage.objects.count() == 1


def test_a_chunked_body_is_accepted(server: Server, signed: dict[str, str]) -> None:
    text = json.dumps(BODY).encode()
    pieces = [text[start : start + 7] for start in range(0, len(text), 7)]
    assert server.request("POST", ORDERS, body=pieces, headers={**JSON, **signed}).status == 202


@pytest.mark.parametrize("is_chunked", [False, True], ids=["with a length", "in chunks"])
def test_ten_megabytes_are_refused_and_not_kept(
    server: Server, signed: dict[str, str], is_chunked: bool
) -> None:
    server.request("GET", "/api/v1/products")
    before = workers_memory(server)
    body = [b" " * 65_536] * 160 if is_chunked else b" " * 10 * MIB
    answer = server.request("POST", ORDERS, body=body, headers={**JSON, **signed})
    assert (answer.status, answer.json["code"]) == (413, "body_too_large")
    assert workers_memory(server) - before < 5 * MIB


@pytest.mark.parametrize("is_chunked", [False, True], ids=["with a length", "in chunks"])
def test_a_batch_may_be_larger_than_any_other_body(
    server: Server, signed: dict[str, str], is_chunked: bool
) -> None:
    batch = json.dumps({"orders": [{"idempotency_key": "a", "order": BODY}]}).encode()
    for size, status in ((768 * 1024, 200), (768 * 1024 + 1, 413)):
        padded = batch.ljust(size)
        body = [padded[start : start + 65_536] for start in range(0, size, 65_536)] if is_chunked else padded
        answer = server.request("POST", f"{ORDERS}/batch", body=body, headers={**JSON, **signed})
        assert answer.status == status
    assert SubmissionMessage.objects.count() == 1


def test_a_client_that_announces_too_large_a_body_is_refused_before_it_sends_it(
    server: Server, signed: dict[str, str]
) -> None:
    head = [
        f"POST {ORDERS} HTTP/1.1",
        "Host: localhost",
        f"Authorization: {signed['Authorization']}",
        "Content-Type: application/json",
        f"Content-Length: {10 * MIB}",
        "Expect: 100-continue",
    ]
    with server.connect() as raw:
        raw.sendall("\r\n".join([*head, "", ""]).encode())
        assert raw.recv(65_536).startswith(b"HTTP/1.1 413 ")


def test_a_head_request_has_a_length_and_no_body(server: Server) -> None:
    head, get = server.request("HEAD", "/api/v1/products"), server.request("GET", "/api/v1/products")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(get.body))


@pytest.mark.parametrize(
    "target", ["/api/v1/products/%ff", "/api/v1/products?cursor=%ff", "/api/v1/%00", "/api/%2e%2e/"]
)
def test_odd_urls_do_no_harm(server: Server, target: str) -> None:
    assert server.request("GET", target).status in (200, 400, 404)


def test_non_ascii_bytes_in_a_url_do_no_harm(server: Server) -> None:
    with server.connect() as raw:
        raw.sendall(b"GET /api/v1/products?\xff=\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert raw.recv(65_536).startswith(b"HTTP/1.1 400 ")


def test_a_connection_serves_many_requests(server: Server) -> None:
    with server.connect() as raw:
        for _ in range(3):
            raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert raw.recv(65_536).endswith(b"ok\n")


def test_clients_that_leave_in_the_middle_cost_no_thread(server: Server, signed: dict[str, str]) -> None:
    """More clients than there are threads, at each of three moments when a client can leave."""
    bundle = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
    url = json.loads(
        server.request("POST", ORDERS, body=json.dumps(BODY).encode(), headers={**JSON, **signed}).body
    )["links"]["self"]
    authorization = f"Authorization: {signed['Authorization']}\r\n"
    for start in (
        f"POST {ORDERS} HTTP/1.1\r\nHost: localhost\r\n{authorization}Content-Length: 1000\r\n\r\n{{",
        f"GET {bundle} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        f"GET {url} HTTP/1.1\r\nHost: localhost\r\n{authorization}Prefer: wait=60\r\n\r\n",
    ):
        for _ in range(40):
            with server.connect() as raw:
                raw.sendall(start.encode())
    with ThreadPoolExecutor(32) as clients:
        answers = clients.map(
            lambda _: server.request("GET", "/api/v1/products", timeout=SOON).status, range(64)
        )
        assert set(answers) == {200}
    # Whoever left is forgotten, so there is room to wait again.
    until(
        lambda: (
            "preference-applied" in server.request("GET", url, headers={**signed, "Prefer": "wait=1"}).headers
        )
    )


def queries_of_others() -> list[str]:
    """The last query of every other session of this database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return [query for (query,) in cursor.fetchall()]


def test_the_server_stops_at_once_even_if_clients_wait(
    ada: APIClient, signed: dict[str, str], tmp_path: Path
) -> None:
    url = place(ada)["links"]["self"]
    server = Server(tmp_path / "log", database_url=database_url())
    try:
        until(server.answers)
        until(lambda: server.request("GET", "/readyz").body == b"ready\n", what="a ready server")
        with ThreadPoolExecutor(8) as clients:
            waiting = [
                clients.submit(server.request, "GET", url, headers={**signed, "Prefer": "wait=60"})
                for _ in range(8)
            ]
            until(lambda: any("orders_setaside" in query for query in queries_of_others()))
            assert server.stop() < SOON
            assert {future.result(timeout=SOON).status for future in waiting} == {200}
        log = server.log.read_text()
        assert "Traceback" not in log, log
        assert "Forcing close" not in log, log
    finally:
        server.end()


def test_probes_and_problems_while_the_database_comes_and_goes(tmp_path: Path) -> None:
    with temporary_server() as database:
        server = Server(tmp_path / "log", database_url=database.url)
        try:
            until(server.answers)
            missing = (503, b"migrations still to be applied")

            def answer() -> tuple[int, bytes]:
                ready = server.request("GET", "/readyz")
                return ready.status, ready.body.split(b":")[0]

            until(lambda: answer() == missing, what="the migrations that are missing")
            database.stop(mode="immediate")
            assert server.request("GET", "/healthz").body == b"ok\n"
            response = server.request("GET", "/readyz", timeout=1.0)
            assert (response.status, response.body.count(b"\n")) == (503, 1)
            assert b"did not answer" in response.body or b"does not answer" in response.body
            problem = server.request("GET", "/api/v1/products")
            assert (problem.status, problem.json["code"]) == (503, "unavailable")
            assert 1 <= int(problem.headers["retry-after"]) <= 30
            assert b"postgres" not in problem.body
            database.start()
            until(lambda: b"migrations" in server.request("GET", "/readyz").body, seconds=SOON)
            server.stop()
        finally:
            server.end()


def test_a_server_without_a_database_starts_and_says_so(tmp_path: Path) -> None:
    server = Server(tmp_path / "log", database_url=NOWHERE)
    try:
        until(server.answers)
        assert server.request("GET", "/readyz", timeout=1.0).status == 503
        assert server.stop() < SOON
    finally:
        server.end()


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked",
        b"Content-Length: 4\r\nContent-Length: 5",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding : chunked",
        b"Content-Length: +4",
    ],
)
def test_a_request_whose_length_is_ambiguous_is_refused_and_what_follows_is_not_read(
    server: Server, framing: bytes
) -> None:
    with server.connect() as raw:
        raw.sendall(b"POST /cart/add/ HTTP/1.1\r\nHost: localhost\r\n" + framing + b"\r\n\r\n")
        raw.sendall(b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answers = b""
        while received := raw.recv(65_536):
            answers += received
    assert answers.split()[1] in (b"400", b"501")
    assert answers.count(b"HTTP/1.1 ") == 1
