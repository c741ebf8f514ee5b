"""A proxy between the roles and PostgreSQL that cuts, deafens and counts connections, if need be around a COMMIT.

It reads just enough of the protocol to know which statements a transaction has and where its COMMIT is. Clients
connect by TCP; the proxy reaches the server by its UNIX socket, so the server need not listen on TCP.
"""

import asyncio
import contextlib
import itertools
import re
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

SSL_REQUEST, GSS_REQUEST = 80_877_103, 80_877_104

_LITERALS = re.compile(r"'(?:[^']|'')*'|\d+")


class Moment(Enum):
    """Where a connection is cut."""

    BEFORE_COMMIT = "before COMMIT"
    AFTER_COMMIT = "after COMMIT"
    STALL = "after COMMIT, with the connection left open in silence"


@dataclass
class Cut:
    """An instruction to cut the next `times` transactions whose statements contain all of `words`."""

    moment: Moment
    words: tuple[str, ...] = ()
    times: int = 1
    done: int = 0
    stalled: int = 0
    """How many have committed and are held open in silence."""

    def wants(self, statements: str) -> bool:
        """Whether to cut this transaction."""
        return self.done < self.times and all(word in statements for word in self.words)


@dataclass(eq=False)
class _Link:
    """One client's connection."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    statements: list[str] = field(default_factory=list)
    """Those of the transaction so far; outside one, those since the last Sync, at which they are committed."""
    prepared: dict[bytes, str] = field(default_factory=dict)
    in_transaction: bool = False
    listens: bool = False
    cut_after: Cut | None = None
    is_asking: bool = False

    def close(self) -> None:
        """Cuts both sides at once, without a message."""
        for writer in (self.client, self.server):
            writer.transport.abort()


class DatabaseProxy:
    """Runs in a thread of its own, from the construction to `close`."""

    def __init__(self, sockets: Path, port: str = "5432", *, url: tuple[str, str]) -> None:
        """`url` is the user and the database that clients name."""
        self._of = url
        self._server_path = str(sockets / f".s.PGSQL.{port}")
        self._cuts: list[Cut] = []
        self._links: set[_Link] = set()
        self._is_deaf = False
        self._is_shut = False
        self._codes: Iterator[str] | None = None
        self._refused: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self.port = 0
        self._statements = self._round_trips = 0
        self._thread = threading.Thread(target=self._run, name="database proxy", daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    @property
    def url(self) -> str:
        """The url of the database for clients."""
        user, database = self._of
        return f"postgresql://{user}@/{database}?host=127.0.0.1&port={self.port}"

    @property
    def traffic(self) -> tuple[int, int]:
        """How many statements clients have sent, and how often they have waited for answers, to one or to several."""
        return self._statements, self._round_trips

    def cut(self, moment: Moment, *words: str, times: int = 1) -> Cut:
        """Cuts the next transactions that contain these words at a moment; the result counts them."""
        order = Cut(moment, words, times)
        self._cuts.append(order)
        return order

    def forget_cuts(self) -> None:
        """Cancels the remaining cuts."""
        self._cuts.clear()
        self._codes = None

    def refuse_each_once(self, *codes: str) -> dict[str, str]:
        """Answers each statement about our tables once with an error, using the codes in turn.

        Returns the code for each statement.
        """
        self._codes = itertools.cycle(codes)
        self._refused = {}
        return self._refused

    def cut_all(self) -> int:
        """Cuts every connection now; returns how many there were."""
        return self._call(self._cut_all)

    def deafen(self, is_deaf: bool = True) -> None:
        """Keeps the server's messages from the connections that listen for wake-ups, and leaves these open."""
        self._is_deaf = is_deaf

    def shut(self, is_shut: bool = True) -> None:
        """Cuts every connection, and refuses new ones, as if the server were down."""
        self._is_shut = is_shut
        if is_shut:
            self.cut_all()

    def close(self) -> None:
        """Ends the proxy with all its connections. A second call changes nothing."""
        if not self._thread.is_alive():
            return
        self._cut_all_soon()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _cut_all_soon(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._call(self._cut_all)

    def _call(self, act: Callable[[], int]) -> int:
        async def inside() -> int:
            return act()

        return asyncio.run_coroutine_threadsafe(inside(), self._loop).result(10)

    def _cut_all(self) -> int:
        links = list(self._links)
        for link in links:
            link.close()
        return len(links)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for link in self._links:
            link.close()
        # Links end by themselves; a cancelled one would be logged as an error.
        if tasks := asyncio.all_tasks(self._loop):
            self._loop.run_until_complete(asyncio.wait(tasks, timeout=5))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link: _Link | None = None
        if self._is_shut:
            writer.transport.abort()
            return
        try:
            first = await _first_packet(reader, writer)
            server_reader, server_writer = await asyncio.open_unix_connection(self._server_path)
            link = _Link(writer, server_writer)
            self._links.add(link)
            server_writer.write(first)
            directions = [
                asyncio.ensure_future(self._client_to_server(reader, link)),
                asyncio.ensure_future(self._server_to_client(server_reader, link)),
            ]
            try:
                await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for side in directions:
                    side.cancel()
                await asyncio.gather(*directions, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            if link is not None:
                self._links.discard(link)
                link.close()
            else:
                writer.transport.abort()

    async def _client_to_server(self, reader: asyncio.StreamReader, link: _Link) -> None:
        while True:
            kind, packet = await _packet(reader)
            self._statements += kind in (b"Q", b"E")
            link.is_asking = True
            statement = _statement(kind, packet, link.prepared)
            if self._is_cut(kind, statement, link):
                return
            code = "" if statement is None else self._refusal(statement)
            if code and kind == b"Q":
                link.client.write(_error(code) + _ready(link.in_transaction))
                await link.client.drain()
                continue
            # In the extended protocol the server itself refuses it, and skips what follows until the next Sync.
            link.server.write((_raising(code) if code else b"") + packet)
            await link.server.drain()

    def _is_cut(self, kind: bytes, statement: str | None, link: _Link) -> bool:
        """Notes a statement; True if the proxy must cut the connection instead of passing it on."""
        word = (statement or "").lstrip()[:8].upper()
        if word.startswith("LISTEN"):
            link.listens = True
        if word.startswith("COMMIT") or (kind == b"S" and not link.in_transaction and link.statements):
            return self._is_cut_at_commit(link)
        if statement is not None:
            if word.startswith("BEGIN"):
                link.statements.clear()
            link.in_transaction = link.in_transaction or word.startswith("BEGIN")
            if word.startswith("ROLLBACK") and " TO " not in statement.upper():
                link.in_transaction = False
                link.statements.clear()
            else:
                link.statements.append(statement)
            if kind == b"Q" and not link.in_transaction and link.statements:
                return self._is_cut_at_commit(link)  # a transaction of its own
        return False

    def _is_cut_at_commit(self, link: _Link) -> bool:
        held = " ".join(" ".join(link.statements).split())  # whatever the layout of a statement
        link.in_transaction = False
        link.statements.clear()
        for order in self._cuts:
            if order.wants(held):
                order.done += 1
                if order.moment is Moment.BEFORE_COMMIT:
                    return True
                link.cut_after = order
                break
        return False

    def _refusal(self, statement: str) -> str:
        """The SQLSTATE to answer this statement with, or an empty string."""
        if self._codes is None or "orders_" not in statement:
            return ""
        form = _LITERALS.sub("?", statement)[:200]
        if form in self._refused:
            return ""
        self._refused[form] = next(self._codes)
        return self._refused[form]

    async def _server_to_client(self, reader: asyncio.StreamReader, link: _Link) -> None:
        while True:
            kind, packet = await _packet(reader)
            self._round_trips += link.is_asking
            link.is_asking = False
            if link.cut_after is not None:
                if (
                    kind == b"Z" and link.cut_after.moment is not Moment.STALL
                ):  # the transaction has committed
                    return
                link.cut_after.stalled += kind == b"Z"
                continue
            if self._is_deaf and link.listens:
                continue
            link.client.write(packet)
            await link.client.drain()


async def _first_packet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The client's startup packet, after its requests for encryption have been refused."""
    while True:
        head = await reader.readexactly(8)
        length, code = struct.unpack("!II", head)
        packet = head + await reader.readexactly(length - 8)
        if code not in (SSL_REQUEST, GSS_REQUEST):
            return packet
        writer.write(b"N")
        await writer.drain()


async def _packet(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!I", head[1:])
    return head[:1], head + await reader.readexactly(length - 4)


def _error(code: str) -> bytes:
    """The server's message when it refuses a statement."""
    fields = b"SERROR\0VERROR\0C" + code.encode() + b"\0Mrefused by the test\0\0"
    return b"E" + struct.pack("!I", len(fields) + 4) + fields


def _ready(in_transaction: bool) -> bytes:
    return b"Z" + struct.pack("!I", 5) + (b"E" if in_transaction else b"I")


def _raising(code: str) -> bytes:
    """The messages of a statement that fails with this SQLSTATE. Clients ignore the answers to its first two."""
    statement = f"DO $$ BEGIN RAISE EXCEPTION 'refused by the test' USING ERRCODE = '{code}'; END $$"
    messages = [
        (b"P", b"\0" + statement.encode() + b"\0\0\0"),
        (b"B", b"\0\0" + bytes(6)),
        (b"E", b"\0" + bytes(4)),
    ]
    return b"".join(kind + struct.pack("!I", len(body) + 4) + body for kind, body in messages)


def _statement(kind: bytes, packet: bytes, prepared: dict[bytes, str]) -> str | None:
    """The SQL of a statement that is about to be run: of a simple query, or of a Bind. Notes that of a Parse."""
    if kind == b"Q":
        return packet[5:-1].decode(errors="replace")
    if kind == b"P":
        name, statement, _ = packet[5:].split(b"\0", 2)
        prepared[name] = statement.decode(errors="replace")
    if kind == b"B":
        _, name, _ = packet[5:].split(b"\0", 2)
        return prepared.get(name)
    return None
