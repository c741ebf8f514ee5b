"""An alert reaches an operator by mail and webhook, once a group, and not before it was really delivered (O1)."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_string, policy
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.conf import settings
from uuid_utils.compat import uuid7

from orders.engine.alerts import NewAlert, close_alerts, open_alerts
from orders.models import Alert
from orders.notifications import tell_operators
from tests.support.system import free_ports as free_port


class _Inbox:
    def __init__(self) -> None:
        self.mails: list[str] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        self.mails.append(envelope.content.decode())
        return "250 OK"


class _Hook(BaseHTTPRequestHandler):
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(json.loads(body))  # type: ignore[attr-defined]
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def inbox() -> Iterator[tuple[_Inbox, int]]:
    """A mail server."""
    box = _Inbox()
    server = Controller(box, hostname="127.0.0.1", port=free_port())
    server.start()
    yield box, server.port
    server.stop()


@pytest.fixture
def hook() -> Iterator[HTTPServer]:
    """A webhook's receiver."""
    server = HTTPServer(("127.0.0.1", 0), _Hook)
    server.received = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _alerts(count: int, code: str = "http_503") -> None:
    open_alerts(
        [
            NewAlert(uuid7(), "step_failed", code, "it said no", "create-shipment", "carrier")
            for _ in range(count)
        ]
    )


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_a_group_of_alerts_is_told_of_once_by_mail_and_webhook(
    inbox: tuple[_Inbox, int], hook: HTTPServer, settings: Any
) -> None:
    box, port = inbox
    settings.CONFIG = replace(
        settings.CONFIG,
        email_url=f"smtp://127.0.0.1:{port}",
        alert_email="ops@example.org",
        alert_webhook_url=f"http://127.0.0.1:{hook.server_port}/",
    )
    _alerts(30)
    _alerts(1, code="card_gone")
    assert tell_operators() == 2
    assert tell_operators() == 0
    assert len(box.mails) == 2
    subject = message_from_string(box.mails[0], policy=policy.default)["Subject"].strip()
    assert subject == "sasweb: 30 × a step failed for good at create-shipment (carrier)"
    received = hook.received  # type: ignore[attr-defined]
    assert [(call["code"], call["count"]) for call in received] == [("http_503", 30), ("card_gone", 1)]


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_an_alert_that_could_not_be_delivered_is_told_of_later(hook: HTTPServer, settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, alert_webhook_url=f"http://127.0.0.1:{free_port()}/")
    _alerts(1)
    assert tell_operators() == 0
    assert Alert.objects.get().notified_at is None
    settings.CONFIG = replace(settings.CONFIG, alert_webhook_url=f"http://127.0.0.1:{hook.server_port}/")
    assert tell_operators() == 1


@pytest.mark.django_db
def test_an_alert_that_is_closed_already_is_not_told_of() -> None:
    _alerts(1)
    close_alerts([Alert.objects.get().order_id], by="operator:test", resolution="resubmitted")
    assert tell_operators() == 0
    assert settings.CONFIG.alert_email == ""
