"""Each change in a client's feed becomes one message for each of her webhooks, whatever happens at the same time."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from orders import retention
from orders.api.feed_views import change_bodies
from orders.engine.runtime.sql import database_now
from orders.models import WebhookDelivery, WebhookEndpoint
from orders.services.audit import Actor
from orders.services.operators import erasure
from orders.webhooks import fan_out as fan_out_module
from orders.webhooks.fan_out import fan_out
from tests.support.client_webhooks import happen, make_deliveries, make_endpoint, order_of
from tests.support.factories import ago
from tests.support.two_sessions import NewSession, all_at_once
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://receiver.example/hook"


def look() -> bool:
    return fan_out(render=change_bodies)


def read_on() -> None:
    """Reads all feeds to their end."""
    until(look, what="the end of the feed", seconds=60)


def steps_of(endpoint: WebhookEndpoint) -> Sequence[str]:
    """What has been made of the feed, in order."""
    bodies = WebhookDelivery.objects.filter(endpoint=endpoint).order_by("id").values_list("body", flat=True)
    return [json.loads(body)["data"]["step"] for body in bodies]


def test_a_slow_transaction_makes_nobody_miss_its_changes(ada: User, new_session: NewSession) -> None:
    endpoint, slow = make_endpoint(ada, URL), new_session()
    contested, other = order_of(ada), order_of(ada)
    slow.begin()
    slow.do(lambda: happen(contested, step="slow"))
    happen(other, step="quick")
    assert look() is False
    assert steps_of(endpoint) == []
    slow.commit()
    happen(contested, step="next")
    read_on()
    assert Counter(steps_of(endpoint)) == {"slow": 1, "quick": 1, "next": 1}
    steps = steps_of(endpoint)
    assert steps.index("slow") < steps.index("next")


def test_senders_at_the_same_time_make_each_message_once(
    ada: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fan_out_module, "LIMIT", 3)
    endpoints = [make_endpoint(ada, URL), make_endpoint(ada, URL), make_endpoint(bob, URL)]
    order_ids = [order_of(ada), order_of(bob)]
    for number in range(10):
        happen(*order_ids, step=f"step-{number}")
    all_at_once(4, lambda _: [look() for _ in range(6)])
    read_on()
    for endpoint in endpoints:
        assert steps_of(endpoint) == [f"step-{number}" for number in range(10)]
    heads = WebhookDelivery.objects.filter(due_at__isnull=False)
    assert [delivery.pk for delivery in heads.order_by("id")] == sorted(
        min(endpoint.deliveries.values_list("pk", flat=True)) for endpoint in endpoints
    )


def test_a_webhook_begins_with_what_happens_after_it_was_created(ada: User) -> None:
    order_id = order_of(ada)
    happen(order_id, step="before")
    endpoint = make_endpoint(ada, URL)
    happen(order_id, step="after")
    read_on()
    assert steps_of(endpoint)[-1:] == ["after"]


def test_a_disabled_webhook_reads_on_where_it_ended_once_it_is_enabled(ada: User) -> None:
    endpoint, order_id = make_endpoint(ada, URL), order_of(ada)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(disabled_at=ago(9), disabled_reason="gone")
    for step in ("first", "second"):
        happen(order_id, step=step)
    read_on()
    assert steps_of(endpoint) == []
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(disabled_at=None, disabled_reason="")
    read_on()
    assert steps_of(endpoint) == ["first", "second"]


# What is kept, and for how long.


def test_messages_are_kept_for_thirty_days_and_those_to_be_sent_longer(ada: User) -> None:
    endpoint, disabled = make_endpoint(ada, URL), make_endpoint(ada, URL)
    WebhookEndpoint.objects.filter(pk=disabled.pk).update(disabled_at=ago(9), disabled_reason="gone")
    delivered, queued, other, recent = (
        pk
        for each in (endpoint, endpoint, disabled, endpoint)
        for pk in make_deliveries(each, order_of(ada), 1)
    )
    done = {"state": "delivered", "due_at": None, "delivered_at": database_now()}
    WebhookDelivery.objects.filter(pk__in=[delivered, recent]).update(**done)
    long_ago = database_now() - timedelta(days=31)
    WebhookDelivery.objects.filter(pk__in=[delivered, queued, other]).update(created_at=long_ago)
    assert retention.delete_old_records()["webhook deliveries"] == 2
    assert sorted(WebhookDelivery.objects.values_list("pk", flat=True)) == [queued, recent]


def test_an_erased_client_has_no_webhooks(ada: User, bob: User) -> None:
    make_deliveries(make_endpoint(ada, URL), uuid4(), 2)
    other = make_endpoint(bob, URL)
    (mention,) = make_deliveries(other, uuid4(), 1)
    log = [{"answer": 'no "ada@example.com" here', "at": str(ago(1))}]
    WebhookDelivery.objects.filter(pk=mention).update(body='{"said": "ada@example.com"}', log=log)
    erasure.erase(email="ada@example.com", actor=Actor(name="anna"))
    assert list(WebhookEndpoint.objects.all()) == [other]
    (delivery,) = WebhookDelivery.objects.all()
    assert json.loads(delivery.body)["said"].startswith("erased-")
    assert delivery.log[0]["answer"].startswith('no "erased-')
