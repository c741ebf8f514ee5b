"""An alert reaches an operator by email and webhook, once for each group, and is never lost (O1)."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from uuid_utils.compat import uuid7

from orders.engine.alerts import NewAlert, close_alerts, close_outage, open_alerts, open_outage
from orders.models import Alert, AlertGroup, OutgoingMessage, StepState
from orders.outbox.queue import deliver_due
from orders.services.operators.notifications import notify_operators
from orders.wording.skipped_messages import why_skipped
from tests.support.factories import ago, make_order
from tests.support.mailbox import Mailbox, mailbox
from tests.support.ports import free_ports
from tests.support.two_sessions import all_at_once
from tests.support.webhook import LOOPBACK, Webhook, webhook


@pytest.fixture
def inbox(settings: Any) -> Iterator[Mailbox]:
    """The operators' mail server."""
    with mailbox(settings) as box:
        _set_up(settings, alert_email="ops@example.org")
        yield box


@pytest.fixture
def hook(settings: Any) -> Iterator[Webhook]:
    """The operators' webhook."""
    with webhook() as receiver:
        _set_up(settings, alert_webhook_url=receiver.url)
        yield receiver


def _set_up(settings: Any, **changes: Any) -> None:
    settings.CONFIG = replace(
        settings.CONFIG, public_url="https://shop.example", webhook_networks=LOOPBACK, **changes
    )


def _later(seconds: float) -> None:
    """Moves the times of all messages this far into the past."""
    by = timedelta(seconds=seconds)
    OutgoingMessage.objects.update(created_at=F("created_at") - by)
    OutgoingMessage.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - by)


def _notify() -> int:
    """Posts the messages about new alerts and sends what is due; returns how many messages were sent."""
    notify_operators()
    return deliver_due()


def _alerts(count: int, code: str = "http_503") -> None:
    open_alerts(
        [
            NewAlert(uuid7(), "step_failed", code, "it said no", "create-shipment", "carrier")
            for _ in range(count)
        ]
    )


@pytest.mark.django_db
def test_an_outage_that_is_over_when_its_email_is_due_is_not_reported_any_more(
    inbox: Mailbox, settings: Any
) -> None:
    open_outage("kitchen", code="unreachable", message="no answer")
    assert notify_operators() == 1
    close_outage("kitchen", by="agents", resolution="it answers again")
    assert deliver_due() == 0
    message = OutgoingMessage.objects.get()
    assert message.state == "skipped"
    assert "was closed before it was sent" in why_skipped(kind=message.kind, channel=message.channel)


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_a_groups_first_alert_waits_a_moment_for_others_and_is_counted_with_them(inbox: Mailbox) -> None:
    _alerts(1)
    assert notify_operators(gather=30) == 0
    _alerts(4)
    Alert.objects.filter(pk=Alert.objects.order_by("id")[0].pk).update(opened_at=ago(31))
    assert notify_operators(gather=30) == 1
    assert OutgoingMessage.objects.get().alerts == 5


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_a_group_of_alerts_is_reported_once_by_email_and_webhook(
    inbox: Mailbox, hook: Webhook, settings: Any
) -> None:
    _alerts(30)
    _alerts(1, code="card_gone")
    assert _notify() == 4
    assert _notify() == 0
    assert len(inbox.emails) == 2
    email = inbox.emails[0]
    assert (
        email["Subject"].strip()
        == "sasweb: a step failed for good at create-shipment (carrier): 30 new alerts"
    )
    group = AlertGroup.objects.get(code="http_503")
    url = f"https://shop.example/console/alerts/{group.pk}/"
    text = email.get_content()
    assert url in text
    assert "30 new, 30 open in all." in text
    assert text.count("manage.py order ") == 20
    assert "and 10 more" in text
    calls = [(call["code"], call["count"], call["url"]) for call in hook.received]
    assert calls[0] == ("http_503", 30, url)
    assert [call[:2] for call in calls] == [("http_503", 30), ("card_gone", 1)]
    posted = OutgoingMessage.objects.filter(group=group).order_by("channel")
    assert [
        (message.channel, message.recipient, message.alerts, message.attempts, message.error)
        for message in posted
    ] == [
        ("email", "ops@example.org", 30, 1, ""),
        ("webhook", "127.0.0.1", 30, 1, ""),
    ]
    assert all(message.sent_at is not None for message in posted)


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_a_group_is_reported_at_most_every_five_minutes_and_then_with_all_that_is_new(
    hook: Webhook, settings: Any
) -> None:
    _alerts(2)
    _notify()
    _alerts(3)
    _alerts(1, code="other")
    _notify()
    _later(290)
    _alerts(4)
    _notify()
    assert [(call["code"], call["count"]) for call in hook.received] == [("http_503", 2), ("other", 1)]
    _later(15)
    _notify()
    assert [(call["count"], call["open"]) for call in hook.received][2:] == [(7, 9)]
    assert not Alert.objects.filter(notified_at=None).exists()


@pytest.mark.django_db
@pytest.mark.pattern("O1", "F20")
def test_an_alert_that_could_not_be_delivered_is_delivered_later(hook: Webhook, settings: Any) -> None:
    _set_up(settings, alert_webhook_url=f"http://127.0.0.1:{free_ports()}/")
    _alerts(1)
    assert (_notify(), _notify()) == (0, 0)
    waiting = OutgoingMessage.objects.get()
    assert waiting.state == "queued"
    assert "refused" in waiting.error
    _set_up(settings, alert_webhook_url=hook.url)
    hook.status = 503
    _later(900)
    _notify()
    assert OutgoingMessage.objects.get().error == "the recipient answered 503"
    hook.status = 200
    _later(900)
    assert _notify() == 1
    assert OutgoingMessage.objects.get().state == "sent"
    assert len(hook.received) == 2


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_a_process_that_is_killed_while_it_sends_loses_nothing(hook: Webhook, settings: Any) -> None:
    _alerts(2)

    def die(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith('SELECT "orders_alert"'):  # the first query for the message
            raise SystemExit
        return execute(sql, *rest)

    with connection.execute_wrapper(die), pytest.raises(SystemExit):
        _notify()
    assert hook.received == []
    _later(900)
    assert _notify() == 1
    assert hook.received[0]["count"] == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("O1")
def test_simultaneous_jobs_report_a_group_once(hook: Webhook, settings: Any) -> None:
    _alerts(5)
    _alerts(5, code="other")
    all_at_once(4, lambda _: _notify())
    _notify()
    assert sorted(call["code"] for call in hook.received) == ["http_503", "other"]


@pytest.mark.django_db
def test_a_webhooks_redirect_is_not_followed(hook: Webhook, settings: Any) -> None:
    hook.status = 307
    _alerts(1)
    assert _notify() == 0
    assert len(hook.received) == 1
    assert "307" in OutgoingMessage.objects.get().error


@pytest.mark.django_db
def test_a_channel_that_is_no_longer_configured_is_not_tried_again(settings: Any) -> None:
    _set_up(settings, alert_webhook_url=f"http://127.0.0.1:{free_ports()}/")
    _alerts(1)
    _notify()
    _set_up(settings, alert_webhook_url="")
    _later(900)
    assert _notify() == 0
    assert OutgoingMessage.objects.get().state == "skipped"


@pytest.mark.django_db
@pytest.mark.pattern("A8", "O1")
def test_an_outage_says_how_many_steps_wait(inbox: Mailbox, hook: Webhook, settings: Any) -> None:
    open_outage("kitchen", code="unreachable", message="no answer")
    for _ in range(3):
        order = make_order({}, process_state="pending")
        StepState.objects.filter(process=order, name="mix").update(waiting_since=ago(5))
    assert _notify() == 2
    email = inbox.emails[0]
    assert email["Subject"].strip() == "sasweb: kitchen is not answering; 3 steps are waiting"
    assert "resubmit" not in email.get_content()
    (call,) = hook.received
    assert (call["agent"], call["waiting"], call["orders"]) == ("kitchen", 3, [])


@pytest.mark.django_db
def test_an_alert_that_is_closed_already_is_not_reported(settings: Any) -> None:
    _alerts(1)
    close_alerts([Alert.objects.get().order_id], by="operator:test", resolution="resubmitted")
    assert _notify() == 0
    assert settings.CONFIG.alert_email == ""


@pytest.mark.django_db
def test_an_alert_without_a_channel_is_only_logged() -> None:
    _alerts(1)
    assert _notify() == 0
    assert Alert.objects.get().notified_at is not None
    assert not OutgoingMessage.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("O1")
def test_a_group_that_cannot_be_reported_does_not_stop_the_others(hook: Webhook) -> None:
    for code in ("first", "broken", "last"):
        _alerts(1, code)
    broken = AlertGroup.objects.get(code="broken")
    with connection.cursor() as cursor:
        cursor.execute(
            f"ALTER TABLE orders_outgoingmessage ADD CONSTRAINT broken CHECK (group_id <> {broken.pk}) NOT VALID"
        )
    try:
        assert _notify() == 2
        assert [message["code"] for message in hook.received] == ["first", "last"]
        assert Alert.objects.get(group=broken).notified_at is None
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE orders_outgoingmessage DROP CONSTRAINT broken")
    assert _notify() == 1
