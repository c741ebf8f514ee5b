"""The web's worker: gunicorn's for ASGI, with limits for clients that keep a connection and do nothing with it.

gunicorn itself waits for ever for the head of a connection's first request and for a client that does not read its
answer, and its ASGI worker takes any number of connections. Here a connection is *waiting* while its client has to do
something: send the rest of a request, send the next one, or read an answer. When there are as many connections as there
may be, a new one takes the place of the one that has been waiting longest. If none is waiting, the new one gets a 503.

A piece of a body costs the same whether it has one byte or thousands, so a client that sends it byte by byte could
keep the process busy. It gets a 400.

The time for a body is limited in `sasweb.asgi`, the time between two requests by gunicorn's `keepalive`.
"""

import asyncio
import random
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

from gunicorn.asgi.parser import ParseError, UnsupportedTransferCoding
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers import gasgi

from sasweb import descriptors
from sasweb.bare_answers import SECURITY_HEADERS, refusal

HEAD_TIMEOUT = 10.0
"""Seconds from the start of a connection to the end of the head of its first request."""

READ_TIMEOUT = 60.0
"""Seconds in which a client must read enough of its answer that the rest can be sent."""

FREE_PIECES, LEAST_PIECE = 4_000, 512
"""Pieces of a body that may be as small as they like, and the bytes that further ones must have on average."""


CODES = {
    414: "url_too_long",
    431: "headers_too_large",
    500: "internal_error",
    501: "transfer_coding_unknown",
    503: "unavailable",
}
"""The problems of gunicorn's own answers. Any other is about a malformed request."""
LONGEST_REASON = 200
"""Characters of gunicorn's reason, which may quote the request."""


ABSOLUTE = re.compile(rb"https?://([^/]*)", re.IGNORECASE)
"""The beginning of a target that is a whole url, with the host."""


class Protocol(ASGIProtocol):
    """One connection."""

    worker: "Worker"

    def connection_made(self, transport: Any) -> None:
        """Starts the time for the first request, or refuses the connection."""
        self._unread_handle: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        # gunicorn stops this timer when the head of a request is complete, and restarts it after the answer.
        self._keepalive_handle = self.worker.loop.call_later(
            self.worker.head_timeout, self._keepalive_timeout
        )
        self.worker.take(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        super().connection_lost(exc)
        self.worker.waiting.pop(self, None)
        self._stop_unread_timer()

    def drop(self) -> None:
        """Ends the connection at once."""
        self.transport.abort()

    def refuse(self) -> None:
        """Answers that there is no room, and ends the connection."""
        wait = str(random.randint(3, 8))  # so that they do not come back together
        self._send_error_response(503, "Too many connections. Try again soon.\n", [("Retry-After", wait)])
        self._close_transport()

    def pause_writing(self) -> None:
        """Called when too much of the answer is unread."""
        super().pause_writing()
        self._start_unread_timer()

    def resume_writing(self) -> None:
        """Called when the client has read enough."""
        super().resume_writing()
        self.worker.waiting.pop(self, None)
        self._stop_unread_timer()

    def _is_websocket_upgrade(self, request: Any) -> bool:
        return False  # there are none here, so the request is answered like any other (RFC 9110, section 7.8)

    def _feed_callback_parser(self, data: bytes) -> bool:
        try:
            return bool(super()._feed_callback_parser(data))
        except ValueError:  # gunicorn lets Python's own limit on the digits of a number through
            self._send_error_response(400, "a number has too many digits")
            self._close_transport()
            return False

    def _send_error_response(
        self, status: int, message: str, extra_headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        source = self._current_request or self._callback_parser
        method, path = _text(source.method), _text(source.path)
        headers = self._current_request.headers_bytes if self._current_request else source.headers
        code = CODES.get(status, "malformed_request")
        reason = message.strip()[:LONGEST_REASON]
        detail = f"The request is not valid HTTP: {reason}." if code == "malformed_request" and reason else ""
        bare = refusal(
            code, path=path if path.startswith("/") else None, headers=headers, text=reason, detail=detail
        )
        own = [(name.encode(), value.encode()) for name, value in extra_headers]
        lines = [f"HTTP/1.1 {bare.status} {HTTPStatus(bare.status).phrase}".encode()]
        for name, value in (*bare.headers, *SECURITY_HEADERS, *own, (b"connection", b"close")):
            lines.append(name + b": " + value)
        self._safe_write(b"\r\n".join([*lines, b"", b"" if method == "HEAD" else bare.body]))

    def _on_body(self, chunk: bytes) -> None:
        self._pieces += 1
        self._received += len(chunk)
        if self._pieces > FREE_PIECES + self._received / LEAST_PIECE:
            raise ParseError("the body comes in too many small pieces\n")
        super()._on_body(chunk)

    def _on_headers_complete(self) -> Any:
        self._pieces = self._received = 0
        self.worker.waiting.setdefault(self)
        result = super()._on_headers_complete()
        for name, value in self._current_request.headers_bytes:
            # gunicorn also takes codings that nobody here undoes.
            if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
                raise UnsupportedTransferCoding(_text(value))
        _without_origin(self._current_request)
        return result

    def _on_message_complete(self) -> None:
        super()._on_message_complete()
        self.worker.waiting.pop(self, None)

    def _arm_keepalive_timer(self) -> None:
        super()._arm_keepalive_timer()
        self.worker.waiting.setdefault(self)

    def _close_transport(self) -> None:
        super()._close_transport()
        if self.transport.get_write_buffer_size():
            self._start_unread_timer()  # the connection stays open until its client has read what was sent

    def _start_unread_timer(self) -> None:
        self.worker.waiting.setdefault(self)
        if self._unread_handle is None:
            self._unread_handle = self.worker.loop.call_later(self.worker.read_timeout, self.drop)

    def _stop_unread_timer(self) -> None:
        if self._unread_handle is not None:
            self._unread_handle.cancel()
            self._unread_handle = None


def _without_origin(request: Any) -> None:
    """Has a request whose target is a whole url ask for its path, of its host (RFC 9112, section 3.2.2)."""
    if (origin := ABSOLUTE.match(request.raw_path)) is None:
        return
    request.raw_path = request.raw_path[origin.end() :] or b"/"
    request.path = unquote_to_bytes(request.raw_path).decode("utf-8", "replace")
    others = [(name, value) for name, value in request.headers_bytes if name != b"host"]
    request.headers_bytes = [(b"host", origin[1]), *others]


def _text(part: str | bytes | None) -> str:
    """A part of the request line, which gunicorn keeps as bytes until the whole head has been read."""
    return part.decode("latin-1") if isinstance(part, bytes) else part or ""


class Worker(gasgi.ASGIWorker):
    """One process of the web."""

    head_timeout = HEAD_TIMEOUT
    read_timeout = READ_TIMEOUT

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting: dict[Protocol, None] = {}
        """The connections that are waiting, the longest first."""
        self._most = min(self.worker_connections, descriptors.most_connections())

    def take(self, connection: Protocol) -> None:
        """Makes room for a new connection, or refuses it."""
        if self.nr_conns > self._most:
            longest = next(iter(self.waiting), None)
            if longest is None:
                connection.refuse()
                return
            del self.waiting[longest]
            longest.drop()
        self.waiting[connection] = None

    async def _serve(self) -> None:
        gasgi.ASGIProtocol = Protocol  # the only way: gunicorn's worker names its protocol here
        await super()._serve()
