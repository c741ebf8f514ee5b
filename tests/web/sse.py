"""A reader of server-sent events, on a raw connection to the real server."""

import socket
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol


class Connectable(Protocol):
    """A server, or a proxy in front of it."""

    def connect(self, source: str = ...) -> socket.socket: ...


class Heard(NamedTuple):
    """A block of a stream: its fields, and its comment under ""."""

    fields: Mapping[str, str]
    at: float

    @property
    def version(self) -> str:
        return self.fields.get("id", "")


class Stream:
    """One open stream. Reads only when it is asked to."""

    def __init__(self, server: Connectable, path: str, *, source: str = "127.0.0.1", **headers: str) -> None:
        self._socket = server.connect(source)
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        self._bytes = b""
        self._blocks: list[str] = []
        self.is_over = False
        self.status = 0
        self.headers: dict[str, str] = {}

    def open(self, *, seconds: float = 15.0) -> "Stream":
        """Reads the head of the response."""
        head = self._until(b"\r\n\r\n", seconds).decode().split("\r\n")
        self.status = int(head[0].split(" ")[1])
        self.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
        }
        return self

    def next(self, *, seconds: float = 10.0) -> Heard | None:
        """The next block; None at the end of the stream. Raises `TimeoutError`."""
        while not self._blocks:
            size = int(self._until(b"\r\n", seconds), 16)
            chunk = self._take(size + 2, seconds)[:-2].decode()
            if size == 0:
                self.is_over = True
                return None
            self._blocks += [block for block in chunk.split("\n\n") if block]
        lines = [line.partition(":") for line in self._blocks.pop(0).split("\n")]
        return Heard({name: value.strip() for name, _, value in lines}, time.monotonic())

    def next_version(self, *, seconds: float = 10.0) -> Heard:
        """The next block that has a version."""
        ends = time.monotonic() + seconds
        while heard := self.next(seconds=max(0.01, ends - time.monotonic())):
            if heard.version:
                return heard
        raise AssertionError("the stream ended")

    def close(self) -> None:
        self._socket.close()

    def _until(self, mark: bytes, seconds: float) -> bytes:
        while mark not in self._bytes:
            self._receive(seconds)
        before, _, self._bytes = self._bytes.partition(mark)
        return before

    def _take(self, size: int, seconds: float) -> bytes:
        while len(self._bytes) < size:
            self._receive(seconds)
        taken, self._bytes = self._bytes[:size], self._bytes[size:]
        return taken

    def _receive(self, seconds: float) -> None:
        self._socket.settimeout(seconds)
        more = self._socket.recv(65_536)
        if not more:
            raise ConnectionError("the connection was closed")
        self._bytes += more


def is_quiet(stream: Stream, *, seconds: float) -> bool:
    """Whether the stream is silent for that long."""
    try:
        stream.next(seconds=seconds)
    except TimeoutError:
        return True
    return False
