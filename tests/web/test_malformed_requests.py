"""What no correct client sends gets the right problem from whichever level refuses it, and the connection behaves."""

from collections.abc import Iterator

import pytest
from gunicorn.config import Config

from sasweb.problems import SERVER_PROBLEMS
from tests.support.system import database_url
from tests.web.raw_requests import HOST, assert_problem, read_answer, request, send
from tests.web.server import Server, running

pytestmark = pytest.mark.django_db

PRODUCTS, ORDERS = b"/api/v1/products", b"/api/v1/orders"
JSON, CHUNKED = b"Content-Type: application/json", b"Transfer-Encoding: chunked"
FORM = b"Content-Type: application/x-www-form-urlencoded; charset=hex"
EMPTY = b"Content-Length: 0"


def post(*headers: bytes, body: bytes = b"", target: bytes = ORDERS) -> bytes:
    return request(target, JSON, *headers, method=b"POST", body=body)


def chunks(body: bytes) -> bytes:
    return post(CHUNKED, body=body)


BY_THE_SERVER = {
    # The first line.
    "bytes of another protocol": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "malformed_request"),
    "one word": (b"GET\r\n\r\n", "malformed_request"),
    "no version": (b"GET /api/v1/products\r\n\r\n", "malformed_request"),
    "another version": (b"GET /api/v1/products HTTP/9.9\r\n\r\n", "malformed_request"),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "malformed_request"),
    "a method in lower case": (request(PRODUCTS, method=b"get"), "malformed_request"),
    "a method that is no token": (request(PRODUCTS, method=b"G@T"), "malformed_request"),
    "a space in the url": (request(b"/api/v1/a b"), "malformed_request"),
    "a control character in the url": (request(b"/api/v1/a\x01b"), "malformed_request"),
    "UTF-8 that is not encoded": (request("/api/v1/ü".encode()), "malformed_request"),
    "a byte in the query": (request(PRODUCTS + b"?\xff=1"), "malformed_request"),
    "no slash": (request(b"api/v1/products"), "malformed_request"),
    "a long line": (request(PRODUCTS + b"?q=" + b"a" * 9_000), "url_too_long"),
    "a line without an end": (b"GET /api/v1/" + b"a" * 20_000, "url_too_long"),
    # The headers.
    "a long header": (request(PRODUCTS, b"X-A: " + b"a" * 9_000), "headers_too_large"),
    "many headers": (request(PRODUCTS, *(b"X-%d: 1" % number for number in range(150))), "headers_too_large"),
    "a space in a header's name": (request(PRODUCTS, b"X A: 1"), "malformed_request"),
    "a header without a colon": (request(PRODUCTS, b"XA"), "malformed_request"),
    "a header without a name": (request(PRODUCTS, b": a"), "malformed_request"),
    "a NUL in a header": (request(PRODUCTS, b"X-A: a\x00b"), "malformed_request"),
    "a folded header": (request(PRODUCTS, b"X-A: a", b" b"), "malformed_request"),
    "a line that ends without CR": (b"GET /api/v1/products HTTP/1.1\n\n", "malformed_request"),
    "two hosts": (request(PRODUCTS, HOST.strip()), "malformed_request"),
    "two content types": (post(JSON, EMPTY), "malformed_request"),
    # The length of the body.
    "a negative length": (post(b"Content-Length: -1"), "malformed_request"),
    "a length that is no number": (post(b"Content-Length: abc"), "malformed_request"),
    "a length of thousands of digits": (post(b"Content-Length: " + b"9" * 5_000), "malformed_request"),
    "two lengths": (post(b"Content-Length: 4", b"Content-Length: 5"), "malformed_request"),
    "a length and chunks": (post(b"Content-Length: 4", CHUNKED), "malformed_request"),
    "chunks twice": (post(CHUNKED, CHUNKED), "malformed_request"),
    "a coding that nobody undoes": (post(b"Transfer-Encoding: gzip, chunked"), "transfer_coding_unknown"),
    "an unknown coding": (post(b"Transfer-Encoding: xchunked"), "transfer_coding_unknown"),
    # The body.
    "a chunk's size that is no number": (chunks(b"zz\r\nabc\r\n0\r\n\r\n"), "malformed_request"),
    "a chunk that is longer than its size": (chunks(b"3\r\nabcXX0\r\n\r\n"), "malformed_request"),
    "a broken chunk extension": (chunks(b"3;\x01\r\nabc\r\n0\r\n\r\n"), "malformed_request"),
    "a header in the trailer": (chunks(b"0\r\nHost: x\r\n\r\n"), "malformed_request"),
}
"""The server cannot know where the request ends, so it closes the connection."""

BY_DJANGO = {
    "TRACE": (request(PRODUCTS, method=b"TRACE"), "method_not_allowed"),
    "a method that nobody knows": (request(PRODUCTS, method=b"FOO"), "method_not_allowed"),
    "a method that nobody knows, for what needs a token": (
        request(ORDERS, method=b"FOO"),
        "not_authenticated",
    ),
    "a method that nobody knows, beside the API": (request(b"//api/v1", method=b"FOO"), "not_found"),
    "a method that a callback does not know": (request(b"/callbacks/x", method=b"FOO"), "method_not_allowed"),
    "another host": (request(PRODUCTS, host=b"Host: evil.example\r\n"), "malformed_request"),
    "a host that is none": (request(PRODUCTS, host=b"Host: a b\r\n"), "malformed_request"),
    "two slashes": (request(b"//api/v1/products"), "not_found"),
    "capitals": (request(b"/API/v1/products"), "not_found"),
    "the API without a slash": (request(b"/api"), "not_found"),
    "a POST to the API without a slash": (request(b"/api", EMPTY, method=b"POST"), "not_found"),
    "documentation without a slash": (request(b"/api/docs"), "not_found"),
    "an order with a slash": (request(ORDERS + b"/"), "not_found"),
    "the whole url of another host": (request(b"http://evil.example/api/v1/products"), "malformed_request"),
    "a whole url without a host": (request(b"http:///api/v1/products"), "malformed_request"),
    "an unknown callback": (request(b"/callbacks/a/b"), "not_found"),
    "a POST to the documentation": (request(b"/api/docs/", EMPTY, method=b"POST"), "method_not_allowed"),
    "a PUT to the document": (request(b"/api/schema/", EMPTY, method=b"PUT"), "method_not_allowed"),
    "a POST to a problem": (request(b"/api/problems/not_found", EMPTY, method=b"POST"), "method_not_allowed"),
    "a format that there is not": (request(b"/api/docs/", b"Accept: text/csv"), "not_acceptable"),
    "an Accept that is none": (request(PRODUCTS, b"Accept: \xff;;;"), "not_acceptable"),
    "a NUL": (request(b"/api/v1/%00"), "malformed_request"),
    "a NUL in the query": (request(PRODUCTS + b"?x=%00"), "malformed_request"),
    "a NUL after the API": (request(b"/api%00/v1"), "malformed_request"),
    "bytes that are not UTF-8": (request(b"/api/v1/%ff"), "not_found"),
    "bytes in the query that are not UTF-8": (request(PRODUCTS + b"?cursor=%ff"), "malformed_request"),
    "a surrogate": (request(b"/api/v1/%ed%a0%80"), "not_found"),
    "an escape that is none": (request(b"/api/v1/%zz"), "not_found"),
    "an escaped slash": (request(b"/api%2Fv1%2Fnothing"), "not_found"),
    "the folder above": (request(b"/api/../etc/passwd"), "not_found"),
    "the folder above, escaped": (request(b"/api/%2e%2e/%2e%2e/etc/passwd"), "not_found"),
    "a backslash": (request(b"/api\\v1"), "not_found"),
    "a form in another charset": (
        request(b"/API/v1/orders", FORM, b"Content-Length: 2", method=b"POST", body=b"{}"),
        "not_found",
    ),
    "a byte in the token": (request(ORDERS, b"Authorization: Token \xff"), "invalid_token"),
    "an upgrade that is none": (
        request(b"/api/x", b"Upgrade: websocket", b"Connection: Upgrade"),
        "not_found",
    ),
}
"""The request is whole, so the next one may follow it."""


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("malformed") / "log"
    with running(Server(log, database_url=database_url())) as server:
        yield server
    assert "Traceback" not in log.read_text()


@pytest.mark.parametrize(("sent", "code"), BY_THE_SERVER.values(), ids=BY_THE_SERVER)
def test_the_server_refuses_with_a_problem_and_ends_the_connection(
    server: Server, sent: bytes, code: str
) -> None:
    answer = send(server, sent)
    assert_problem(answer, code)
    assert answer.is_closed


@pytest.mark.parametrize(("sent", "code"), BY_DJANGO.values(), ids=BY_DJANGO)
def test_django_refuses_with_a_problem_and_the_next_request_is_answered(
    server: Server, sent: bytes, code: str
) -> None:
    with server.connect() as connection:
        connection.sendall(sent)
        answer = read_answer(connection)
        assert_problem(answer, code)
        assert ("allow" in answer.headers) is (
            code in ("method_not_allowed", "not_acceptable") or ORDERS in sent.split()
        )
        connection.sendall(request(b"/healthz"))
        assert read_answer(connection).body == b"ok\n"


def test_a_page_and_a_head_get_what_they_can_read(server: Server) -> None:
    page = send(server, request(b"/", b"X A: 1"))
    assert (page.status, page.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert (page.body, page.headers["x-content-type-options"]) == (b"X A\n", "nosniff")
    head = send(server, request(PRODUCTS, b"X A: 1", method=b"HEAD"), method="HEAD")
    assert (head.status, head.headers["content-type"]) == (400, "application/problem+json")
    assert int(head.headers["content-length"]) > 0


def test_the_answer_to_a_broken_body_has_the_id_of_its_request(server: Server) -> None:
    problem = assert_problem(
        send(server, post(CHUNKED, b"X-Request-ID: my-own-id", body=b"zz\r\n")), "malformed_request"
    )
    assert problem["request_id"] == "my-own-id"
    assert problem["detail"] == "The request is not valid HTTP: Invalid character in chunk size."


def test_a_request_to_become_a_websocket_is_answered_like_any_other(server: Server) -> None:
    upgrade = (b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Version: 13")
    answer = send(server, request(PRODUCTS, *upgrade, b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize("target", [b"http://localhost", b"HTTPS://localhost:80", b"http://127.0.0.1"])
def test_the_whole_url_is_as_good_as_its_path_and_its_host_counts(server: Server, target: bytes) -> None:
    expected = send(server, request(PRODUCTS + b"?page_size=1"))
    for host in (HOST, b"Host: evil.example\r\n"):
        answer = send(server, request(target + PRODUCTS + b"?page_size=1", host=host))
        assert (answer.status, answer.body) == (200, expected.body)
    assert send(server, request(target + b"/healthz")).body == b"ok\n"
    page, bare = send(server, request(b"/?x=1")), send(server, request(target + b"?x=1"))
    assert (bare.status, bare.headers["content-type"]) == (page.status, page.headers["content-type"])
    assert_problem(send(server, request(target + b"/api%2Fv1%2Fnothing")), "not_found")


def test_the_problems_name_the_servers_limits() -> None:
    limits = Config()
    assert f" {limits.limit_request_line:,} bytes" in SERVER_PROBLEMS["url_too_long"].meaning
    headers = f"{limits.limit_request_fields} headers of up to {limits.limit_request_field_size:,} bytes"
    assert headers in SERVER_PROBLEMS["headers_too_large"].meaning
