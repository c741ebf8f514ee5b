"""An alert reaches an operator by mail and webhook, once a group, and never lost (O1)."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from email import message_from_string, policy
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.db import connection
from django.db.models import F
from uuid_utils.compat import uuid7

from orders.engine.alerts import NewAlert, close_alerts, open_alerts, open_outage
from orders.models import Alert, AlertDelivery, AlertGroup, StepState
from orders.services.operators.notifications import tell_operators, wait_after
from tests.support.factories import ago, make_order
from tests.support.system import free_ports as free_port
from tests.support.two_sessions import all_at_once

pytestmark = pytest.mark.usefixtures("unhurried")


class _Inbox:
    def __init__(self) -> None:
        self.mails: list[str] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        self.mails.append(envelope.content.decode())
        return "250 OK"


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(json.loads(body))  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        raise AssertionError("a redirect was followed")

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
    server.status = 200  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _set_up(settings: Any, **changes: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, public_url="https://shop.example", **changes)


def _hooked(settings: Any, hook: HTTPServer) -> None:
    _set_up(settings, alert_webhook_url=f"http://127.0.0.1:{hook.server_port}/secret-path")


def _received(hook: HTTPServer) -> list[dict[str, Any]]:
    return hook.received  # type: ignore[attr-defined, no-any-return]


def _later(seconds: float) -> None:
    """Moves what was written down, and what is due, that far into the past."""
    AlertDelivery.objects.update(created_at=F("created_at") - timedelta(seconds=seconds))
    AlertDelivery.objects.filter(next_try_at__isnull=False).update(
        next_try_at=F("next_try_at") - timedelta(seconds=seconds)
    )


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
    _hooked(settings, hook)
    _set_up(settings, email_url=f"smtp://127.0.0.1:{port}", alert_email="ops@example.org")
    _alerts(30)
    _alerts(1, code="card_gone")
    assert tell_operators() == 4
    assert tell_operators() == 0
    assert len(box.mails) == 2
    mail = message_from_string(box.mails[0], policy=policy.default)
    assert mail["Subject"].strip() == "sasweb: 30 × a step failed for good at create-shipment (carrier)"
    group = AlertGroup.objects.get(code="http_503")
    url = f"https://shop.example/console/alerts/{group.pk}/"
    text = mail.get_content()
    assert url in text
    assert "30 new, 30 open." in text
    assert text.count("manage.py order ") == 20
    assert "and 10 more" in text
    told = [(call["code"], call["count"], call["url"]) for call in _received(hook)]
    assert told[0] == ("http_503", 30, url)
    assert [call[:2] for call in told] == [("http_503", 30), ("card_gone", 1)]
    log = AlertDelivery.objects.filter(group=group).order_by("channel")
    assert [(one.channel, one.target, one.alerts, one.attempts, one.error) for one in log] == [
        ("mail", "ops@example.org", 30, 1, ""),
        ("webhook", "127.0.0.1", 30, 1, ""),
    ]
    assert all(one.sent_at is not None and one.next_try_at is None for one in log)


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_a_group_is_told_of_at_most_every_five_minutes_and_then_of_all_that_is_new(
    hook: HTTPServer, settings: Any
) -> None:
    _hooked(settings, hook)
    _alerts(2)
    tell_operators()
    _alerts(3)
    _alerts(1, code="other")
    tell_operators()
    _later(290)
    _alerts(4)
    tell_operators()
    assert [(call["code"], call["count"]) for call in _received(hook)] == [("http_503", 2), ("other", 1)]
    _later(15)
    tell_operators()
    assert [(call["count"], call["open"]) for call in _received(hook)][2:] == [(7, 9)]
    assert not Alert.objects.filter(notified_at=None).exists()


@pytest.mark.django_db
@pytest.mark.pattern("O1", "F20")
def test_an_alert_that_could_not_be_delivered_is_told_of_later(hook: HTTPServer, settings: Any) -> None:
    _set_up(settings, alert_webhook_url=f"http://127.0.0.1:{free_port()}/")
    _alerts(1)
    assert (tell_operators(), tell_operators()) == (0, 0)
    waiting = AlertDelivery.objects.get()
    assert (waiting.attempts, waiting.sent_at) == (1, None)
    assert "refused" in waiting.error
    _hooked(settings, hook)
    hook.status = 503  # type: ignore[attr-defined]
    _later(61)
    tell_operators()
    assert AlertDelivery.objects.get().error == "HTTP Error 503: Service Unavailable"
    hook.status = 200  # type: ignore[attr-defined]
    _later(61)
    assert tell_operators() == 0
    _later(60)
    assert tell_operators() == 1
    assert AlertDelivery.objects.get().attempts == 3
    assert len(_received(hook)) == 2


@pytest.mark.pattern("O1")
def test_the_waits_double_up_to_an_hour() -> None:
    waits = [wait_after(tries).total_seconds() for tries in (1, 2, 3, 6, 7, 10_000)]
    assert waits == [60, 120, 240, 1920, 3600, 3600]


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_a_process_that_is_killed_while_it_tells_loses_nothing(hook: HTTPServer, settings: Any) -> None:
    _hooked(settings, hook)
    _alerts(2)

    def die(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith('SELECT "orders_alert"'):  # the first thing that is read for the message
            raise SystemExit
        return execute(sql, *rest)

    with connection.execute_wrapper(die), pytest.raises(SystemExit):
        tell_operators()
    assert _received(hook) == []
    _later(61)
    assert tell_operators() == 1
    assert _received(hook)[0]["count"] == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("O1")
def test_two_of_these_jobs_at_once_tell_once(hook: HTTPServer, settings: Any) -> None:
    _hooked(settings, hook)
    _alerts(5)
    _alerts(5, code="other")
    all_at_once(4, lambda _: tell_operators())
    tell_operators()
    assert sorted(call["code"] for call in _received(hook)) == ["http_503", "other"]


@pytest.mark.django_db
def test_a_webhook_that_leads_elsewhere_is_not_followed(hook: HTTPServer, settings: Any) -> None:
    _hooked(settings, hook)
    hook.status = 307  # type: ignore[attr-defined]
    _alerts(1)
    assert tell_operators() == 0
    assert len(_received(hook)) == 1
    assert "307" in AlertDelivery.objects.get().error


@pytest.mark.django_db
def test_a_channel_that_was_switched_off_is_tried_no_more(settings: Any) -> None:
    _set_up(settings, alert_webhook_url=f"http://127.0.0.1:{free_port()}/")
    _alerts(1)
    tell_operators()
    _set_up(settings, alert_webhook_url="")
    _later(61)
    assert tell_operators() == 0
    given_up = AlertDelivery.objects.get()
    assert (given_up.next_try_at, given_up.error) == (None, "this channel is no longer set up")


@pytest.mark.django_db
@pytest.mark.pattern("A8", "O1")
def test_an_outage_says_how_many_steps_wait(
    inbox: tuple[_Inbox, int], hook: HTTPServer, settings: Any
) -> None:
    box, port = inbox
    _hooked(settings, hook)
    _set_up(settings, email_url=f"smtp://127.0.0.1:{port}", alert_email="ops@example.org")
    open_outage("kitchen", code="unreachable", message="no answer")
    for _ in range(3):
        order = make_order({}, process_state="pending")
        StepState.objects.filter(process=order, name="mix").update(waiting_since=ago(5))
    assert tell_operators() == 2
    mail = message_from_string(box.mails[0], policy=policy.default)
    assert mail["Subject"].strip() == "sasweb: kitchen does not answer, 3 steps wait"
    assert "resubmit" not in mail.get_content()
    (call,) = _received(hook)
    assert (call["agent"], call["waiting"], call["orders"]) == ("kitchen", 3, [])


@pytest.mark.django_db
def test_an_alert_that_is_closed_already_is_not_told_of(settings: Any) -> None:
    _alerts(1)
    close_alerts([Alert.objects.get().order_id], by="operator:test", resolution="resubmitted")
    assert tell_operators() == 0
    assert settings.CONFIG.alert_email == ""


@pytest.mark.django_db
def test_without_a_channel_an_alert_is_logged_and_that_is_all() -> None:
    _alerts(1)
    assert tell_operators() == 0
    assert Alert.objects.get().notified_at is not None
    assert not AlertDelivery.objects.exists()
