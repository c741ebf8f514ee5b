"""Connections to a mail server: reused, closed in time, and never used for a password without encryption."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from orders.agents import smtp
from orders.agents.smtp import SmtpRemote
from orders.engine.errors import Fault, Refused, Transient

BOUND = 10.0
"""Seconds; far longer than any test here takes."""


@dataclass
class MailServer:
    """A mail server with an answer for each command in `says`; None ends the connection, and `...` is silence."""

    says: dict[str, object] = field(default_factory=dict)
    connections: int = 0
    commands: list[str] = field(default_factory=list)
    port: int = 0
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        with contextlib.suppress(ConnectionError):
            await self.talk(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        command, in_data = "greeting", False
        while True:
            usual = {"greeting": "220 hello", "DATA": "354 go on", "QUIT": "221 bye"}.get(command, "250 ok")
            answer = self.says.get(command, usual)
            if answer is None:
                return
            if isinstance(answer, str) and not in_data:
                writer.write(answer.encode() + b"\r\n")
                await writer.drain()
            in_data = command == "DATA" and answer == usual
            line = await reader.readline()
            if not line:
                return
            word = line.split()[0].decode() if line.split() else ""
            if in_data and word != ".":
                continue
            in_data = False
            command = word.upper()
            self.commands.append(command)


@contextlib.asynccontextmanager
async def serving(**says: object) -> AsyncIterator[MailServer]:
    mail_server = MailServer(says={command.replace("_dot", "."): answer for command, answer in says.items()})
    server = await asyncio.start_server(mail_server.serve, "127.0.0.1", 0)
    mail_server.port = server.sockets[0].getsockname()[1]
    async with server:
        yield mail_server
        await asyncio.gather(*mail_server.tasks)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(BOUND):
            await work()

    asyncio.run(bounded())


async def send(remote: SmtpRemote) -> None:
    await remote.send(b"Subject: x\r\n\r\nx\r\n", sender="a@shop.example", recipient="b@example.org")


async def fault_of(remote: SmtpRemote) -> Fault:
    with pytest.raises(Fault) as caught:
        await send(remote)
    return caught.value


def remote_of(server: MailServer, *, user: str = "", timeout: float = BOUND) -> SmtpRemote:
    return SmtpRemote(f"smtp://{user}127.0.0.1:{server.port}", timeout=timeout)


def test_a_connection_is_reused_for_the_next_email_and_properly_closed() -> None:
    async def work() -> None:
        async with serving() as server:
            remote = remote_of(server)
            for _ in range(3):
                await send(remote)
            await remote.close()
            assert server.connections == 1
            assert server.commands.count("DATA") == 3
            assert server.commands[-1] == "QUIT"
            await send(remote)
            await remote.close()
            assert server.connections == 2

    run(work)


def test_simultaneous_emails_have_a_connection_each() -> None:
    async def work() -> None:
        async with serving() as server:
            remote = remote_of(server)
            await asyncio.gather(*(send(remote) for _ in range(5)))
            await asyncio.gather(*(send(remote) for _ in range(5)))
            await remote.close()
            assert server.connections == 5

    run(work)


def test_a_connection_is_closed_after_its_limit_of_emails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "MAILS_PER_CONNECTION", 2)

    async def work() -> None:
        async with serving() as server:
            remote = remote_of(server)
            for _ in range(5):
                await send(remote)
            await remote.close()
            assert server.connections == 3

    run(work)


def test_a_connection_that_was_idle_for_long_is_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "IDLE_CONNECTION", 0.0)

    async def work() -> None:
        async with serving() as server:
            remote = remote_of(server)
            await send(remote)
            await send(remote)
            await remote.close()
            assert server.connections == 2

    run(work)


@pytest.mark.parametrize(
    ("command", "answer", "kind", "code"),
    [
        ("greeting", "421 busy", Transient, "smtp_421"),
        ("greeting", "554 not here", Refused, "smtp_554"),
        ("greeting", None, Transient, "connection_lost"),
        ("MAIL", "452 full", Transient, "smtp_452"),
        ("RCPT", "550 nobody", Refused, "smtp_550"),
        ("RCPT", "450 later", Transient, "smtp_450"),
        ("RCPT", None, Transient, "connection_lost"),
        ("DATA", "554 no", Refused, "smtp_554"),
        ("_dot", "451 later", Transient, "smtp_451"),
        ("_dot", "552 too much", Refused, "smtp_552"),
        ("_dot", None, Transient, "connection_lost"),
        ("MAIL", "nonsense", Transient, "connection_lost"),
    ],
)
def test_each_bad_answer_has_its_own_fault_and_its_connection_is_not_reused(
    command: str, answer: object, kind: type[Fault], code: str
) -> None:
    async def work() -> None:
        async with serving(**{command: answer}) as server:
            remote = remote_of(server)
            fault = await fault_of(remote)
            assert (type(fault), fault.code) == (kind, code)
            server.says.clear()
            await send(remote)
            await remote.close()
            assert server.connections == 2

    run(work)


@pytest.mark.parametrize("command", ["greeting", "EHLO", "RCPT", "_dot"])
def test_silence_ends_at_the_timeout(command: str) -> None:
    async def work() -> None:
        async with serving(**{command: ...}) as server:
            remote = remote_of(server, timeout=0.2)
            assert (await fault_of(remote)).code == "timeout"
            await remote.close()

    run(work)


def test_a_password_is_not_sent_over_a_connection_that_is_not_encrypted() -> None:
    async def work() -> None:
        async with serving(EHLO="250-here\r\n250 AUTH PLAIN LOGIN") as server:
            remote = remote_of(server, user="shop:secret@")
            fault = await fault_of(remote)
            assert (type(fault), fault.code) == (Refused, "smtp_not_supported")
            assert not {"AUTH", "MAIL"} & set(server.commands)

    run(work)


def test_a_refused_connection_is_transient() -> None:
    async def work() -> None:
        async with serving() as server:
            remote = remote_of(server)
        assert type(await fault_of(remote)) is Transient

    run(work)
