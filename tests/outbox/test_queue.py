"""Every message in the outbox is sent, at least once and in its turn, or its row says why not. The server is real."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import NotSupportedError, transaction
from django.db.models import F

from orders.engine.alerts import NewAlert, open_alerts
from orders.engine.runtime.sql import database_now
from orders.models import AlertGroup, OutgoingMessage
from orders.outbox import queue
from orders.outbox.queue import deliver_due
from orders.vocabulary import MessageKind, MessageState
from sasweb import mail_server
from tests.architecture.source import ROOT
from tests.support.factories import ago
from tests.support.mailbox import Mailbox, mailbox, serving
from tests.support.ports import free_ports
from tests.support.system import database_url
from tests.support.two_sessions import all_at_once
from tests.support.wait import until

pytestmark = pytest.mark.django_db

ADA, BOB = "ada@example.com", "bob@example.com"


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    with mailbox(settings) as server:
        yield server


def post(**fields: Any) -> OutgoingMessage:
    """The message that a post leads to: the newest."""
    queue.post(**fields)
    return OutgoingMessage.objects.latest("id")


def a_sign_up(recipient: str = ADA, **fields: Any) -> OutgoingMessage:
    """A waiting message, as a visitor's request to sign up posts it."""
    arguments = {"following": "", "language": "en"}
    message = post(kind=MessageKind.SIGN_UP, recipient=recipient, arguments=arguments)
    OutgoingMessage.objects.filter(pk=message.pk).update(**fields)
    return OutgoingMessage.objects.get(pk=message.pk)


def an_alert(settings: Any) -> OutgoingMessage:
    """A waiting message to the operators."""
    settings.CONFIG = replace(settings.CONFIG, alert_email="ops@example.org")
    open_alerts([NewAlert(None, "outage", "unreachable", "no answer", "", "carrier")])
    group = AlertGroup.objects.get()
    return post(kind=MessageKind.ALERT, recipient="ops@example.org", group=group, arguments={"alerts": 1})


def now_of(message: OutgoingMessage) -> OutgoingMessage:
    return OutgoingMessage.objects.get(pk=message.pk)


def later(seconds: float = 86_000) -> None:
    """Makes every message due that waits for another attempt or for a lease to lapse."""
    OutgoingMessage.objects.filter(due_at__isnull=False).update(
        due_at=F("due_at") - timedelta(seconds=seconds)
    )


def recipients(box: Mailbox) -> list[str]:
    return [email["To"] for email in box.emails]


# Sent, and how often.


def test_a_message_is_sent_once_and_its_row_says_so(box: Mailbox) -> None:
    message = a_sign_up()
    assert (deliver_due(), deliver_due()) == (1, 0)
    assert recipients(box) == [ADA]
    sent = now_of(message)
    assert (sent.state, sent.attempts, sent.due_at, sent.error) == (MessageState.SENT, 1, None, "")
    assert sent.sent_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_message_of_a_transaction_that_is_rolled_back_is_never_sent(box: Mailbox) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        a_sign_up()
        raise ZeroDivisionError
    assert deliver_due() == 0


def test_of_two_posts_with_one_key_the_first_counts(box: Mailbox) -> None:
    first = post(kind=MessageKind.SIGN_UP, recipient=ADA, key="k")
    assert post(kind=MessageKind.SIGN_UP, recipient=BOB, key="k") == first
    deliver_due()
    assert recipients(box) == [ADA]


@pytest.mark.django_db(transaction=True)
def test_simultaneous_senders_share_the_work_and_send_each_message_once(box: Mailbox) -> None:
    for number in range(12):
        a_sign_up(f"customer{number}@example.com")
    all_at_once(4, lambda _: deliver_due(seconds=30))
    assert sorted(recipients(box)) == sorted(f"customer{number}@example.com" for number in range(12))


def test_alerts_go_before_customers_emails_however_long_those_have_waited(
    box: Mailbox, settings: Any
) -> None:
    a_sign_up(due_at=ago(3600))
    a_sign_up(BOB, due_at=ago(60))
    an_alert(settings)
    assert deliver_due() == 3
    assert recipients(box) == ["ops@example.org", ADA, BOB]


# Failures and retries.


def test_a_server_that_is_down_is_tried_again_until_it_is_up(box: Mailbox, settings: Any) -> None:
    port = free_ports()
    settings.CONFIG = replace(settings.CONFIG, email_url=f"smtp://127.0.0.1:{port}")
    message = a_sign_up()
    assert (deliver_due(), deliver_due(now=ago(1))) == (0, 0)
    waiting = now_of(message)
    assert (waiting.state, waiting.attempts) == (MessageState.QUEUED, 1)
    assert waiting.due_at is not None
    assert waiting.due_at <= database_now() + timedelta(seconds=queue.FIRST_WAIT)
    with serving(Mailbox(), port=port) as up:
        later()
        assert deliver_due() == 1
        assert recipients(up) == [ADA]
    assert now_of(message).attempts == 2


def test_a_slow_server_costs_one_timeout_and_no_sleep(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_server, "TIMEOUT", 0.3)
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"slept {seconds} s"))
    box.delay = 2.0
    message = a_sign_up()
    assert deliver_due() == 0
    assert "no answer from the mail server within 0.3 seconds" in now_of(message).error
    box.delay = 0.0
    later()
    assert deliver_due() == 1


def test_a_pass_with_a_stuck_server_ends_soon_and_leaves_the_rest_for_the_next(
    box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail_server, "TIMEOUT", 0.2)
    box.delay = 2.0
    for number in range(5):
        a_sign_up(f"customer{number}@example.com")
    deliver_due(seconds=0.3)
    assert 0 < OutgoingMessage.objects.filter(attempts=1).count() < 5


def test_a_transient_reply_is_tried_again(box: Mailbox) -> None:
    message = a_sign_up()
    box.to_text = "451 try again later"
    deliver_due()
    assert (now_of(message).state, now_of(message).error) == (MessageState.QUEUED, "451 try again later")
    box.to_text = "250 OK"
    later()
    assert deliver_due() == 1


@pytest.mark.parametrize("place", ["to_recipient", "to_text"])
def test_a_definite_refusal_is_not_tried_again(box: Mailbox, place: str) -> None:
    message = a_sign_up()
    setattr(box, place, f"550 <{ADA}> does not live here")
    deliver_due()
    failed = now_of(message)
    assert (failed.state, failed.error) == (MessageState.FAILED, "550 <the recipient> does not live here")
    setattr(box, place, "250 OK")
    later()
    assert deliver_due() == 0


def test_a_server_that_refuses_our_password_refuses_no_message_for_good(box: Mailbox, settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, email_url=f"smtp://shop:secret@127.0.0.1:{box.port}")
    message = a_sign_up()
    deliver_due()
    assert (now_of(message).state, box.emails) == (MessageState.QUEUED, [])


def test_a_message_that_was_tried_for_too_long_is_given_up_with_the_last_reason(box: Mailbox) -> None:
    message = a_sign_up(give_up_at=ago(1))
    box.to_text = "451 try again later"
    deliver_due()
    assert (now_of(message).state, now_of(message).error) == (MessageState.FAILED, "451 try again later")
    assert now_of(message).ended_at is not None


def test_a_message_that_waited_too_long_for_its_first_attempt_still_gets_one(box: Mailbox) -> None:
    a_sign_up(give_up_at=ago(60))
    assert deliver_due() == 1


def test_waits_double_up_to_a_cap_with_full_jitter(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, float, float]] = []

    def longest(tries: int, *, first: float, cap: float) -> float:
        drawn.append((tries, first, cap))
        return min(cap, first * 2 ** (tries - 1))

    monkeypatch.setattr(queue, "full_jitter", longest)
    box.to_text = "451 try again later"
    message = a_sign_up()
    waits = []
    for _ in range(9):
        deliver_due()
        due_at = now_of(message).due_at
        assert due_at is not None
        waits.append(round((due_at - database_now()).total_seconds() / 10) * 10)
        later()
    assert waits == [10, 20, 40, 80, 160, 320, 640, 900, 900]
    assert drawn[0] == (1, 10.0, 900.0)


@pytest.mark.parametrize("error", [KeyError("link"), NotSupportedError("such a query")], ids=repr)
def test_a_message_that_cannot_be_composed_stops_no_other(
    box: Mailbox, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(_: OutgoingMessage) -> Any:
        raise error

    monkeypatch.setattr(queue, "COMPOSERS", {**queue.COMPOSERS, MessageKind.ORDER_LINK: broken})
    message = post(kind=MessageKind.ORDER_LINK, recipient=BOB)
    a_sign_up()
    assert deliver_due() == 1
    assert (now_of(message).state, now_of(message).error) == (
        MessageState.QUEUED,
        f"could not be composed: {type(error).__name__}: {error}",
    )


# Killed senders.


@pytest.mark.django_db(transaction=True)
def test_a_message_whose_sender_was_killed_is_sent_again_with_the_same_message_id(box: Mailbox) -> None:
    message = a_sign_up()
    box.delay = 1.0
    code = "import django; django.setup(); from orders.outbox.queue import deliver_due; deliver_due()"
    environment = {
        "DJANGO_SETTINGS_MODULE": "sasweb.settings",
        "DATABASE_URL": database_url(),
        "EMAIL_URL": f"smtp://127.0.0.1:{box.port}",
        "PUBLIC_URL": "http://testserver",
    }
    sender = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=os.environ | environment)
    until(lambda: now_of(message).state == MessageState.SENDING, what="the claim")
    until(lambda: box.emails, what="the email")  # the server has it; the sender does not know yet
    sender.kill()
    sender.wait(10)
    assert deliver_due() == 0, "its lease has not lapsed yet"
    box.delay = 0.0
    OutgoingMessage.objects.filter(state=MessageState.SENDING).update(due_at=ago(1))
    assert deliver_due() == 1
    first, second = box.emails
    assert first["Message-ID"] == second["Message-ID"]
    assert (now_of(message).state, now_of(message).attempts) == (MessageState.SENT, 2)


def test_a_sender_whose_lease_has_lapsed_changes_nothing(
    box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = a_sign_up()
    real = queue.deliver

    def overtaken(*args: Any, **kwargs: Any) -> None:
        monkeypatch.setattr(queue, "deliver", real)
        OutgoingMessage.objects.filter(pk=message.pk).update(due_at=ago(1))
        assert deliver_due() == 1  # another sender
        raise mail_server.NotSentError("a late failure", is_final=True)

    monkeypatch.setattr(queue, "deliver", overtaken)
    deliver_due()
    assert (now_of(message).state, now_of(message).error) == (MessageState.SENT, "")
