"""A server that answers what a test has written, and keeps what it was asked."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any

ORDER: Mapping[str, Any] = {
    "id": "019b0000-0000-7000-8000-000000000001",
    "title": "2 × Tidal Lines",
    "reference": "",
    "state": "pending",
    "goal": "complete",
    "waiting_for": None,
    "waiting_until": None,
    "placed_at": "2030-01-01T12:00:00Z",
    "updated_at": "2030-01-01T12:00:00Z",
    "total": {"amount": 7800, "currency": "EUR"},
    "steps": [],
    "links": {},
}
LOST = "lost"
"""In place of an answer: the connection is closed without one."""


@dataclass(frozen=True, kw_only=True)
class CannedAnswer:
    """An answer. A body that is no text is sent as JSON; one with `missing` breaks off so many bytes too early."""

    status: int = 200
    body: Any = None
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0


@dataclass(frozen=True, kw_only=True)
class SentRequest:
    """A request, and when it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float


@dataclass
class StandIn:
    """Gives its answers one after the other, and the last one again and again."""

    answers: list[Any]
    url: str = ""
    requests: list[SentRequest] = field(default_factory=list)


def problem(code: str, status: int, *, retryable: bool = False, **headers: str) -> CannedAnswer:
    """An answer that is a problem."""
    body = {"title": f"Title of {code}", "detail": "Detail.", "status": status, "code": code}
    return CannedAnswer(
        status=status,
        body={**body, "retryable": retryable, "request_id": "request-1"},
        kind="application/problem+json",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


@contextmanager
def stand_in(*answers: Any) -> Iterator[StandIn]:
    """Serves until the block ends."""
    stand_in = StandIn(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            stand_in.requests.append(
                SentRequest(method=self.command, path=self.path, headers=headers, body=body, at=monotonic())
            )
            answer = stand_in.answers.pop(0) if len(stand_in.answers) > 1 else stand_in.answers[0]
            self.close_connection = True
            if answer == LOST:
                return
            content = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            if answer.status != 204:
                self.send_header("Content-Length", str(len(content.encode()) + answer.missing))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.status != 204:
                self.wfile.write(content.encode())

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stand_in.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield stand_in
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
