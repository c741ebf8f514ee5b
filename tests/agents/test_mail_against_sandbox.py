"""The mail agent against the sandbox: what arrives, and what each fault of a mail server counts as (A1, A3)."""

from dataclasses import replace
from typing import Any

import pytest

from orders.engine.contracts import Request
from orders.engine.errors import Fault, Refused, Transient
from orders.shop.agents.mail import Mail
from tests.agents.calls import compensate, fault_of, forward, perform, reversal_of
from tests.sandbox.process import Sandbox


def mail_agent(sandbox: Sandbox) -> Mail:
    return Mail(f"smtp://127.0.0.1:{sandbox.port + 1}", sender="Print Shop <orders@shop.example>")


def mails(sandbox: Sandbox, request: Request) -> list[dict[str, Any]]:
    return [mail for mail in sandbox.ledger("mail") if mail["order_id"] == str(request.order_id)]


@pytest.mark.pattern("A1", "A3")
def test_the_confirmation_arrives(sandbox: Sandbox) -> None:
    request = forward("send-confirmation")
    perform(mail_agent(sandbox), request)
    (mail,) = mails(sandbox, request)
    assert mail["message_id"] == f"{request.key}@shop.example"
    assert "on its way" in mail["subject"]
    assert "€78.00" in mail["body"]
    assert "trk_1" in mail["body"]


@pytest.mark.pattern("C10")
def test_the_notice_arrives_even_without_a_confirmation(sandbox: Sandbox) -> None:
    request = forward("send-confirmation")
    compensate(mail_agent(sandbox), replace(reversal_of(request), results={}))
    (mail,) = mails(sandbox, request)
    assert mail["message_id"] == f"{request.key}/undo@shop.example"
    assert "cancelled" in mail["subject"]


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        ({"down": True}, Transient, "smtp_421"),
        ({"error_rate": 1.0}, Transient, "smtp_451"),
        ({"refuse_rate": 1.0}, Refused, "smtp_550"),
        ({"lost_reply_rate": 1.0}, Transient, "connection_lost"),
    ],
    ids=["down", "error", "refuse", "lost reply"],
)
def test_each_fault_of_the_mail_server_is_classified(
    fault: dict[str, Any], kind: type[Fault], code: str, sandbox: Sandbox
) -> None:
    sandbox.faults("mail", **fault)
    raised = fault_of(lambda: perform(mail_agent(sandbox), forward("send-confirmation")))
    assert (type(raised), raised.code) == (kind, code)


def test_an_email_to_an_invalid_recipient_is_refused(sandbox: Sandbox) -> None:
    request = forward("send-confirmation", email="ada@example.org\nBcc: eve@example.org")
    assert fault_of(lambda: perform(mail_agent(sandbox), request)).code == "bad_mail"
    assert mails(sandbox, request) == []


def test_an_unknown_mail_operation_is_refused(sandbox: Sandbox) -> None:
    request = replace(forward("send-confirmation"), operation="explode")
    assert fault_of(lambda: perform(mail_agent(sandbox), request)).code == "unknown_operation"
    assert fault_of(lambda: compensate(mail_agent(sandbox), request)).code == "unknown_operation"
