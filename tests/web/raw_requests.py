"""Requests as bytes, for what no HTTP client would send, and answers read from a connection."""

import json
import socket
from http import HTTPStatus
from typing import Any, NamedTuple

from tests.web.server import Server

HOST = b"Host: localhost\r\n"
LINE_END = b"\r\n"


class RawAnswer(NamedTuple):
    """The first answer on a connection, and whether the server closed it after that."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    is_closed: bool

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(
    target: bytes, *headers: bytes, method: bytes = b"GET", host: bytes = HOST, body: bytes = b""
) -> bytes:
    """One request, as it is sent."""
    head = method + b" " + target + b" HTTP/1.1" + LINE_END + host
    return head + b"".join(line + LINE_END for line in headers) + LINE_END + body


def send(server: Server, sent: bytes, *, method: str = "GET") -> RawAnswer:
    """Sends these bytes on a connection of their own, and reads until the end of the first answer."""
    with server.connect() as connection:
        connection.sendall(sent)
        return read_answer(connection, method=method)


def read_answer(connection: socket.socket, *, method: str = "GET") -> RawAnswer:
    """The next answer on a connection. If it announces the end of the connection, that end is waited for."""
    received = b""
    while LINE_END * 2 not in received:
        received += _receive(connection)
    head, _, body = received.partition(LINE_END * 2)
    first, *lines = head.decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for name, _, value in (line.partition(": ") for line in lines):
        assert name.lower() not in headers, f"{name} twice"
        headers[name.lower()] = value
    status = int(first.split()[1])
    has_content = method != "HEAD" and status not in (204, 304)
    length = int(headers.get("content-length", 0)) if has_content else 0
    while len(body) < length:
        body += _receive(connection)
    assert len(body) == length, body
    is_closed = headers.get("connection") == "close"
    if is_closed:
        assert connection.recv(1) == b"", "the server said that it would close the connection"
    return RawAnswer(status, first.split(" ", 2)[2], headers, body, is_closed)


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    assert data, "the connection ended before the answer did"
    return data


def assert_problem(answer: RawAnswer, code: str) -> dict[str, Any]:
    """Fails unless this is the problem, in the form and with the headers that all have. Returns its members."""
    body: dict[str, Any] = answer.json
    assert (answer.headers["content-type"], body["code"]) == ("application/problem+json", code)
    assert answer.status == body["status"] == int(HTTPStatus(answer.status))
    assert body["type"].startswith("http") and body["type"].endswith(f"/api/problems/{code}")
    assert body["title"] and body["detail"]
    assert body["retryable"] is (answer.status in (408, 429, 503))
    assert body["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    return body
