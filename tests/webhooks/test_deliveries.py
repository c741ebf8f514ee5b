"""The life of a message to a webhook: leased by one sender, one of each order at a time, until it is delivered."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from orders.engine.runtime.sql import database_now
from orders.models import OutgoingMessage, WebhookDelivery, WebhookEndpoint
from orders.outbox.queue import deliver_due
from orders.services import webhooks
from orders.vocabulary import MessageKind
from orders.webhooks import deliveries
from orders.webhooks.deliveries import claim
from tests.support.client_webhooks import (
    URL,
    attempt,
    make_deliveries,
    make_due,
    make_endpoint,
    next_ids,
    now_of,
    order_of,
    record,
    reread,
)
from tests.support.factories import ago
from tests.support.log_lines import line
from tests.support.mailbox import mailbox
from tests.support.two_sessions import NewSession, all_at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_message_of_each_order_is_under_way_at_a_time(endpoint: WebhookEndpoint) -> None:
    first, *rest = make_deliveries(endpoint, order_of(endpoint.customer), 3)
    (other, _) = make_deliveries(endpoint, order_of(endpoint.customer), 2)
    assignments = claim(limit=100)
    assert sorted(assignment.delivery_id for assignment in assignments) == [first, other]
    assert claim(limit=100) == []
    for assignment in assignments:
        record(assignment, attempt(200 if assignment.delivery_id == first else 500))
    assert next_ids() == [rest[0]]
    assert [now_of(pk).state for pk in (first, *rest)] == ["delivered", "sending", "queued"]


def test_an_endpoint_is_sent_few_at_a_time_and_one_that_failed_a_single_one(
    endpoint: WebhookEndpoint,
) -> None:
    for _ in range(3 * deliveries.AT_ONCE):
        make_deliveries(endpoint, order_of(endpoint.customer), 1)
    assignments = claim(limit=100)
    assert len(assignments) == deliveries.AT_ONCE
    assert claim(limit=100) == []
    for assignment in assignments:
        record(assignment, attempt(None, "no answer"))
    assert reread(endpoint).failing_since is not None
    (probe,) = claim(limit=100)
    assert claim(limit=100) == []
    record(probe, attempt())
    assert reread(endpoint).failing_since is None
    assert len(claim(limit=100)) == deliveries.AT_ONCE


def test_a_receiver_that_fails_is_tried_with_what_has_been_tried_least(endpoint: WebhookEndpoint) -> None:
    """An order that it cannot take must not stand before the others."""
    for attempts in (3, 1):
        make_deliveries(endpoint, order_of(endpoint.customer), 1, attempts=attempts, due_at=ago(60))
    (new,) = make_deliveries(endpoint, order_of(endpoint.customer), 1, due_at=ago(1))
    WebhookEndpoint.objects.update(failing_since=ago(60))
    (probe,) = claim(limit=100)
    assert probe.delivery_id == new


def test_calls_that_end_together_are_written_together(endpoint: WebhookEndpoint) -> None:
    for _ in range(3):
        make_deliveries(endpoint, order_of(endpoint.customer), 2)
    lapsed, taken, refused = claim(limit=9)
    WebhookDelivery.objects.filter(pk=lapsed.delivery_id).update(due_at=ago(1))
    ends = [(lapsed, attempt()), (taken, attempt()), (refused, attempt(500))]
    deliveries.record(endpoint.pk, ends)
    states_now = [now_of(assignment.delivery_id).state for assignment, _ in ends]
    assert states_now == ["sending", "delivered", "queued"]
    assert reread(endpoint).failing_since is not None
    assert now_of(taken.delivery_id + 1).due_at is not None
    assert now_of(refused.delivery_id + 1).due_at is None


def test_senders_at_the_same_time_share_the_work(endpoint: WebhookEndpoint, bob: User) -> None:
    for _ in range(2):
        make_deliveries(endpoint, order_of(endpoint.customer), 1)
        make_deliveries(make_endpoint(bob, URL), order_of(bob), 1)
    taken: list[int] = []
    all_at_once(4, lambda _: taken.extend(assignment.delivery_id for assignment in claim(limit=100)))
    assert sorted(taken) == sorted(WebhookDelivery.objects.values_list("pk", flat=True))


def test_a_lease_that_lapses_is_taken_over_and_its_end_comes_too_late(
    endpoint: WebhookEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    order_id = order_of(endpoint.customer)
    first, second = make_deliveries(endpoint, order_id, 2)
    (late,) = claim(limit=9)
    make_due()
    (successor,) = claim(limit=9)
    assert successor.delivery_id == late.delivery_id == first
    assert successor.message == late.message
    record(late, attempt(500))
    assert line(caplog, "lease lapsed while sending")["order_id"] == str(order_id)
    assert (now_of(first).state, now_of(first).log) == ("sending", [])
    record(successor, attempt())
    assert (now_of(first).state, now_of(first).attempts) == ("delivered", 2)
    assert next_ids() == [second]


def test_an_attempt_that_ends_while_its_lapsed_lease_is_taken_over_is_not_written(
    endpoint: WebhookEndpoint, new_session: NewSession
) -> None:
    (delivery_id,) = make_deliveries(endpoint, order_of(endpoint.customer), 1)
    (late,) = claim(limit=1)
    lapsed = late.leased_until - timedelta(hours=1)
    WebhookDelivery.objects.filter(pk=delivery_id).update(due_at=lapsed)
    late = replace(late, leased_until=lapsed)
    successor, sender = new_session(), new_session()
    successor.begin()
    assert len(successor.do(lambda: claim(limit=1))) == 1
    end = sender.start(lambda: record(late, attempt(500)))
    sender.await_wait()
    successor.commit()
    end.result(timeout=60)
    assert (now_of(delivery_id).state, now_of(delivery_id).log) == ("sending", [])


def test_pauses_grow_up_to_a_quarter_of_an_hour_with_full_jitter(endpoint: WebhookEndpoint) -> None:
    (delivery_id,) = make_deliveries(endpoint, order_of(endpoint.customer), 1, attempts=0)
    longest = []
    for attempts in (0, 3, 30):
        waits = []
        for _ in range(30):
            WebhookDelivery.objects.filter(pk=delivery_id).update(attempts=attempts, due_at=ago(1))
            (assignment,) = claim(limit=1)
            now = database_now()
            record(assignment, attempt(500))
            due_at = now_of(delivery_id).due_at
            assert due_at is not None
            waits.append((due_at - now).total_seconds())
        longest.append(max(waits))
        assert min(waits) < 0.6 * max(waits)
    assert longest[0] <= 5.5 and 6 < longest[1] <= 40.5 and 450 < longest[2] <= 900.5


def test_the_log_has_the_latest_attempts(endpoint: WebhookEndpoint) -> None:
    (delivery_id,) = make_deliveries(endpoint, order_of(endpoint.customer), 1)
    for number in range(12):
        make_due()
        (assignment,) = claim(limit=1)
        record(assignment, attempt(500 + number))
    delivery = now_of(delivery_id)
    assert [entry["status"] for entry in delivery.log] == list(range(502, 512))
    assert delivery.attempts == 12


def failed_for(endpoint: WebhookEndpoint, time: timedelta, status: int | None = 503) -> None:
    """An attempt fails, and the first one of this message was so long ago."""
    make_deliveries(
        endpoint,
        order_of(endpoint.customer),
        2,
        attempts=200,
        tried_since=database_now() - time,
    )
    (assignment,) = claim(limit=1)
    record(assignment, attempt(status))


def test_an_endpoint_that_takes_nothing_for_three_days_is_disabled_and_its_owner_is_told(
    endpoint: WebhookEndpoint, settings: Any
) -> None:
    failed_for(endpoint, timedelta(days=3) - timedelta(minutes=1))
    assert (reread(endpoint).disabled_at, OutgoingMessage.objects.count()) == (None, 0)
    WebhookDelivery.objects.all().delete()
    failed_for(endpoint, timedelta(days=3))
    disabled = reread(endpoint)
    assert disabled.disabled_at is not None and disabled.disabled_reason == "failing"
    make_due()
    assert claim(limit=9) == []
    message = OutgoingMessage.objects.get()
    assert (message.kind, message.recipient) == (MessageKind.WEBHOOK_OFF, "ada@example.com")
    with mailbox(settings) as box:
        assert deliver_due() == 1
    (email,) = box.emails
    assert email["Subject"] == "Your webhook at receiver.example was disabled"
    text = email.get_content()
    assert "did not take a message for three days" in text
    assert f"POST /api/v1/webhooks/{endpoint.pk}/enable" in text


def test_a_receiver_that_is_gone_is_sent_nothing_more(endpoint: WebhookEndpoint) -> None:
    failed_for(endpoint, timedelta(0), status=410)
    assert reread(endpoint).disabled_reason == "gone"
    make_due()
    assert claim(limit=9) == []


def test_an_endpoint_that_is_enabled_again_before_the_email_is_sent_gets_none(
    endpoint: WebhookEndpoint, settings: Any
) -> None:
    failed_for(endpoint, timedelta(days=4))
    webhooks.enable(reread(endpoint))
    with mailbox(settings) as box:
        assert deliver_due() == 0
    assert box.emails == []


def test_what_was_not_taken_is_sent_as_soon_as_the_endpoint_is_enabled(endpoint: WebhookEndpoint) -> None:
    failed_for(endpoint, timedelta(days=4))
    oldest = WebhookDelivery.objects.order_by("id").first()
    assert oldest is not None
    webhooks.enable(reread(endpoint))
    (assignment,) = claim(limit=9)
    assert assignment.delivery_id == oldest.pk
    record(assignment, attempt(503))
    assert reread(endpoint).disabled_at is None  # it has three days again


def test_an_order_goes_on_after_its_oldest_message_was_deleted_while_the_endpoint_was_disabled(
    endpoint: WebhookEndpoint,
) -> None:
    first, second = make_deliveries(endpoint, order_of(endpoint.customer), 2)
    WebhookDelivery.objects.filter(pk=first).delete()
    assert next_ids() == []
    webhooks.enable(endpoint)
    assert next_ids() == [second]


def test_two_webhooks_of_one_client_do_not_wait_for_each_other(endpoint: WebhookEndpoint) -> None:
    order_id: UUID = order_of(endpoint.customer)
    second = make_endpoint(endpoint.customer, URL)
    ids = [*make_deliveries(endpoint, order_id, 1), *make_deliveries(second, order_id, 1)]
    assert next_ids() == ids
