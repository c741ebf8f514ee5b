"""Messages that are sent again at a client's wish, in order, and secrets that are rotated."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from orders.engine.runtime.sql import database_now
from orders.models import WebhookDelivery, WebhookEndpoint
from orders.services import webhooks
from orders.webhooks.deliveries import Assignment, claim, lock, queue_again
from tests.support.client_webhooks import (
    SECRET,
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
    states,
)
from tests.support.factories import ago
from tests.support.two_sessions import NewSession

pytestmark = pytest.mark.django_db(transaction=True)


def deliver_all(endpoint: WebhookEndpoint) -> None:
    while assignments := claim(limit=100):
        for assignment in assignments:
            record(assignment, attempt())
    assert set(states(endpoint)) == {"delivered"}


def test_a_delivered_message_is_sent_again_with_the_same_id_and_body(endpoint: WebhookEndpoint) -> None:
    make_deliveries(endpoint, order_of(endpoint.customer), 2)
    before = WebhookDelivery.objects.order_by("id").first()
    assert before is not None
    deliver_all(endpoint)
    webhooks.redeliver(endpoint, before)
    (assignment,) = claim(limit=9)
    assert (assignment.message.message_id, assignment.message.body) == (before.message_id, before.body)
    record(assignment, attempt())
    assert claim(limit=9) == []
    assert len(now_of(before.pk).log) == 2


def test_a_message_that_is_sent_again_goes_before_later_ones_of_its_order(endpoint: WebhookEndpoint) -> None:
    first, second, third = make_deliveries(endpoint, order_of(endpoint.customer), 3)
    record(*under_way(), attempt())
    (assignment,) = claim(limit=9)
    assert assignment.delivery_id == second
    webhooks.redeliver(endpoint, now_of(first))
    assert claim(limit=9) == []  # the second one is still under way
    record(assignment, attempt(500))
    order = []
    while assignments := claim(limit=9):
        order.append(assignments[0].delivery_id)
        record(assignments[0], attempt())
    assert order == [first, second, third]


def under_way() -> tuple[Assignment]:
    (assignment,) = claim(limit=9)
    return (assignment,)


def test_a_retry_that_waits_is_sent_at_once_when_it_is_asked_for(endpoint: WebhookEndpoint) -> None:
    first, _ = make_deliveries(endpoint, order_of(endpoint.customer), 2)
    WebhookDelivery.objects.filter(pk=first).update(attempts=40, due_at=database_now() + timedelta(hours=1))
    assert claim(limit=9) == []
    webhooks.redeliver(endpoint, now_of(first))
    assert next_ids() == [first]
    assert now_of(first).attempts == 1


def test_a_redelivery_and_a_claim_at_the_same_time_never_send_two_of_one_order(
    endpoint: WebhookEndpoint, new_session: NewSession
) -> None:
    first, second = make_deliveries(endpoint, order_of(endpoint.customer), 2)
    record(*under_way(), attempt())
    claiming, asking = new_session(), new_session()
    claiming.begin()
    (assignment,) = claiming.do(lambda: claim(limit=9))
    assert assignment.delivery_id == second

    def ask() -> None:
        with transaction.atomic():
            lock(endpoint.pk)
            queue_again(endpoint.pk, [first])

    answer = asking.start(ask)
    asking.await_wait()
    claiming.commit()
    answer.result(timeout=60)
    assert claim(limit=9) == []
    record(assignment, attempt())
    assert next_ids() == [first]


def test_all_since_a_time_are_sent_again_in_order(endpoint: WebhookEndpoint, bob: User) -> None:
    order_id, foreign = order_of(endpoint.customer), make_endpoint(bob, URL)
    early = make_deliveries(endpoint, order_id, 2)
    WebhookDelivery.objects.filter(pk__in=early).update(created_at=ago(3600))
    late = make_deliveries(endpoint, order_id, 3, due_at=None)
    other = make_deliveries(foreign, order_of(bob), 1)
    deliver_all(endpoint)
    assert webhooks.redeliver_since(endpoint, ago(600)) == 3
    order: list[int] = []
    while assignments := claim(limit=9):
        order += [assignment.delivery_id for assignment in assignments]
        record(*assignments, attempt())
    assert order == late
    assert set(order).isdisjoint({*early, *other})


# Secrets.


def test_two_secrets_sign_while_they_are_rotated_and_one_afterwards(endpoint: WebhookEndpoint) -> None:
    (delivery_id,) = make_deliveries(endpoint, order_of(endpoint.customer), 1)
    webhooks.rotate(endpoint)
    (assignment,) = claim(limit=9)
    new, old = assignment.message.signing_secrets
    assert old == SECRET != new
    until = reread(endpoint).previous_until
    assert until is not None
    assert timedelta(hours=23, minutes=59) < until - database_now() <= timedelta(hours=24)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(previous_until=ago(1))
    make_due()
    (assignment,) = claim(limit=9)
    assert assignment.message.signing_secrets == [new]
    assert assignment.delivery_id == delivery_id
