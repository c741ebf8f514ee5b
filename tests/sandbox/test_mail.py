"""The mail sink keeps every message with its headers, and has faults of its own."""

import smtplib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any

import pytest

from tests.sandbox.process import BOUND, Sandbox, eventually, new_key

LOST = (smtplib.SMTPServerDisconnected, ConnectionResetError)


def message(key: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"] = "shop@example.com", "ada@example.com"
    mail["Subject"], mail["Message-ID"], mail["X-Order-ID"] = "Your posters — merci", f"<{key}>", "o-1"
    mail.set_content("Thank you, Zoë.\n")
    return mail


@contextmanager
def client(sandbox: Sandbox) -> Iterator[smtplib.SMTP]:
    connection = smtplib.SMTP("127.0.0.1", sandbox.port + 1, "localhost", BOUND)
    try:
        yield connection
    finally:
        connection.close()


def send(sandbox: Sandbox, key: str) -> None:
    with client(sandbox) as connection:
        connection.send_message(message(key))


def kept(sandbox: Sandbox, key: str) -> list[dict[str, Any]]:
    return [entry for entry in sandbox.ledger("mail") if entry["message_id"] == key]


def test_a_message_is_kept_as_it_was_sent(sandbox: Sandbox) -> None:
    key = new_key()
    send(sandbox, key)
    (entry,) = kept(sandbox, key)
    assert datetime.fromisoformat(entry.pop("at")).tzinfo is not None
    assert entry == {
        "message_id": key,
        "from": "shop@example.com",
        "to": ["ada@example.com"],
        "subject": "Your posters — merci",
        "body": "Thank you, Zoë.\n",
        "order_id": "o-1",
    }


def test_a_message_sent_twice_is_kept_twice(sandbox: Sandbox) -> None:
    key = new_key()
    with client(sandbox) as connection:
        connection.send_message(message(key))
        connection.send_message(message(key))
    assert len(kept(sandbox, key)) == 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no header at all",
        "Message-ID: <a b@[\nSubject: =?nonsense?q?x?=\n\nbody",
        "Content-Type: text/plain; charset=nonsense\n\nbody",
        "Content-Type: multipart/mixed\n\nbody",
    ],
)
def test_a_malformed_message_is_kept_too(sandbox: Sandbox, content: str) -> None:
    before = len(sandbox.ledger("mail"))
    with client(sandbox) as connection:
        connection.sendmail("shop@example.com", ["ada@example.com"], content)
    assert len(sandbox.ledger("mail")) == before + 1


def test_a_sink_that_is_down_answers_421_to_a_connection(sandbox: Sandbox) -> None:
    sandbox.faults("mail", down=True)
    with pytest.raises(smtplib.SMTPConnectError) as refused:
        send(sandbox, new_key())
    assert refused.value.smtp_code == 421


def test_a_sink_that_goes_down_answers_421_to_a_command(sandbox: Sandbox) -> None:
    key = new_key()
    with client(sandbox) as connection:
        connection.ehlo()
        connection.mail("shop@example.com")
        connection.rcpt("ada@example.com")
        sandbox.faults("mail", down=True)
        assert connection.docmd("DATA")[0] == 421
        with pytest.raises(LOST):
            connection.noop()
    assert kept(sandbox, key) == []


@pytest.mark.parametrize(("fault", "code"), [("error_rate", 451), ("refuse_rate", 550)])
def test_a_fault_answers_its_code_and_keeps_nothing(sandbox: Sandbox, fault: str, code: int) -> None:
    key = new_key()
    sandbox.faults("mail", **{fault: 1})
    with pytest.raises(smtplib.SMTPDataError) as refused:
        send(sandbox, key)
    assert refused.value.smtp_code == code
    assert kept(sandbox, key) == []
    sandbox.ask("DELETE", "/_faults")
    send(sandbox, key)
    assert len(kept(sandbox, key)) == 1


def test_latency_delays_the_answer_to_a_message(sandbox: Sandbox) -> None:
    sandbox.faults("mail", latency_ms=[300, 300])
    began = datetime.now(UTC)
    send(sandbox, new_key())
    assert datetime.now(UTC) - began >= timedelta(seconds=0.3)


def test_after_a_lost_reply_the_message_is_kept(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("mail", lost_reply_rate=1)
    with pytest.raises(LOST):
        send(sandbox, key)
    assert len(kept(sandbox, key)) == 1


def test_a_hang_ends_when_the_faults_are_deleted_and_keeps_nothing(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("mail", hang_rate=1)
    with client(sandbox) as connection:
        connection.ehlo()
        connection.mail("shop@example.com")
        connection.rcpt("ada@example.com")
        connection.docmd("DATA")
        connection.send(message(key).as_bytes() + b"\r\n.\r\n")
        assert connection.sock is not None
        connection.sock.settimeout(0.05)

        def is_cut() -> bool:
            """Deletes the faults repeatedly: the first time, the sink may not have read the message yet."""
            sandbox.ask("PUT", "/_faults/mail", b'{"hang_rate": 1}')
            sandbox.ask("DELETE", "/_faults")
            assert connection.sock is not None
            try:
                return connection.sock.recv(1) == b""
            except TimeoutError:
                return False

        assert eventually(is_cut)
    assert kept(sandbox, key) == []
