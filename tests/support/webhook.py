"""The receiver of a webhook: a real HTTP server that keeps its messages."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from typing import Any

LOOPBACK = (ip_network("127.0.0.0/8"),)
"""WEBHOOK_NETWORKS with which a receiver on this machine may be called."""


@dataclass(kw_only=True)
class Webhook:
    """`received` are the messages, oldest first, `bodies` what they came as, and `headers` and `keys` their headers and
    Idempotency-Keys. `status`, and `answer` in this `encoding`, are its answer; `decide` may give the status of each
    message instead, and take its time."""

    url: str
    status: int = 200
    answer: bytes = b""
    encoding: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    decide: Callable[[dict[str, Any]], int] | None = None
    received: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@contextmanager
def webhook(*, port: int = 0) -> Iterator[Webhook]:
    """Serves until the block ends, on any free port unless one is given. Every answer has a Location, so that a
    redirect leads to a page that nobody may request."""
    hook = Webhook(url="")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = json.loads(body)
            hook.bodies.append(body)
            hook.received.append(message)
            hook.headers.append({name.lower(): value for name, value in self.headers.items()})
            hook.keys.append(self.headers["Idempotency-Key"])
            self.send_response(hook.decide(message) if hook.decide else hook.status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(hook.answer)))
            if hook.encoding:
                self.send_header("Content-Encoding", hook.encoding)
            self.end_headers()
            self.wfile.write(hook.answer)

        def do_GET(self) -> None:
            hook.received.append({"followed": self.path})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    hook.url = f"http://127.0.0.1:{server.server_port}/alerts"
    # How often it looks for the end, in seconds: its own half a second would be added to each test.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
