"""What happens to a client's orders reaches her receiver: signed, at least once, order per order, and beside others."""

import base64
import hashlib
import hmac
import json
import logging
import os
import random
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from orders import jobs
from orders.api.feed_views import change_bodies
from orders.models import Event, WebhookDelivery, WebhookEndpoint
from orders.selectors.changes import FeedPoint, changes, look
from orders.vocabulary import DeliveryState, EventKind
from orders.webhooks import calls, deliveries
from tests.architecture.source import ROOT
from tests.support.client_webhooks import (
    SECRET,
    Hanging,
    happen,
    make_deliveries,
    make_due,
    make_endpoint,
    order_of,
    send_until,
    states,
)
from tests.support.log_lines import written_lines
from tests.support.roles import end_other_connections, in_thread
from tests.support.system import database_url
from tests.support.wait import until
from tests.support.webhook import Webhook, webhook

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_happens_to_an_order_is_posted_as_the_feed_has_it(ada: User, bob: User, hook: Webhook) -> None:
    endpoint, order_id = make_endpoint(ada, hook.url), order_of(ada)
    happen(order_id, order_of(bob), order_of(None), step="mix")
    send_until(lambda: states(endpoint) == ["delivered"], what="the delivery")
    (message,) = hook.received
    (change,) = changes(customer_id=ada.pk, after=FeedPoint(0, 0), limit=9, mark=look()).changes
    assert message == {
        "type": "order.step_started",
        "timestamp": message["data"]["at"],
        "data": change_bodies([change], ada.pk)[0],
    }
    assert (message["data"]["order_id"], message["data"]["step"]) == (str(order_id), "mix")


def test_a_receiver_can_check_who_sent_it_and_when(ada: User, hook: Webhook) -> None:
    """The check is written out here as the standard describes it."""
    endpoint = make_endpoint(ada, hook.url)
    happen(order_of(ada))
    send_until(lambda: states(endpoint) == ["delivered"], what="the delivery")
    (headers,), (body,) = hook.headers, hook.bodies
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(SECRET, signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    delivery = WebhookDelivery.objects.get()
    assert abs(int(headers["webhook-timestamp"]) - delivery.created_at.timestamp()) < 120
    event = Event.objects.get()
    assert headers["webhook-id"] == f"evt_{event.pk}_{event.at:%Y%m%d%H%M%S%f}" == delivery.message_id
    assert headers["content-type"] == "application/json"
    (attempt,) = delivery.log
    assert {name.lower(): value for name, value in attempt["headers"].items()}.items() <= headers.items()
    assert (attempt["status"], attempt["error"]) == (200, "")


def test_a_client_gets_the_kinds_that_she_wants(ada: User, hook: Webhook) -> None:
    endpoint, order_id = make_endpoint(ada, hook.url, kinds=["processed", "error"]), order_of(ada)
    for kind in (EventKind.STEP_STARTED, EventKind.ERROR, EventKind.RESUBMITTED, EventKind.PROCESSED):
        happen(order_id, kind=kind)
    send_until(lambda: states(endpoint) == ["delivered"] * 2, what="the deliveries")
    assert [message["type"] for message in hook.received] == ["order.error", "order.processed"]


def test_each_order_keeps_its_order_while_the_receiver_fails_now_and_then(ada: User, hook: Webhook) -> None:
    chance = random.Random(16)
    taken: dict[str, list[str]] = defaultdict(list)
    tried: dict[str, list[str]] = defaultdict(list)
    lock = threading.Lock()

    def decide(message: dict[str, Any]) -> int:
        order_id, step = message["data"]["order_id"], message["data"]["step"]
        with lock:
            tried[order_id].append(step)
            if chance.random() < 0.4:
                return chance.choice([500, 503, 429, 302, 404])
            taken[order_id].append(step)
            return 204

    hook.decide = decide
    endpoint, order_ids = make_endpoint(ada, hook.url), [order_of(ada) for _ in range(6)]
    steps = [f"step-{number}" for number in range(8)]
    for step in steps:
        happen(*order_ids, step=step)
    send_until(lambda: states(endpoint) == ["delivered"] * 48, what="all deliveries", is_hurried=True)
    assert taken == {str(order_id): steps for order_id in order_ids}
    for order_id, attempts in tried.items():
        assert attempts == sorted(attempts), (
            order_id
        )  # nothing was tried before what happened earlier was taken
    assert sum(map(len, tried.values())) > 48


def test_a_receiver_that_hangs_holds_up_no_other(ada: User, bob: User, hook: Webhook) -> None:
    """The sender has room for two calls more than hang, and there are twice as many messages that would."""
    with webhook() as hanging:
        hanging.decide = hang = Hanging()
        slow = make_endpoint(ada, hanging.url)
        for _ in range(20):
            make_deliveries(slow, order_of(ada), 1)
        quick = make_endpoint(bob, hook.url)
        for _ in range(20):
            make_deliveries(quick, order_of(bob), 2)

        def is_quick_done() -> bool:
            done = states(quick) == ["delivered"] * 40
            if done:
                assert states(slow).count("delivered") == 0
                assert 1 <= states(slow).count("sending") <= deliveries.AT_ONCE
                hang.over.set()
            return done

        send_until(is_quick_done, what="the other's deliveries", most=deliveries.AT_ONCE + 2)
        hang.over.set()
        send_until(lambda: states(slow) == ["delivered"] * 20, what="the slow one's deliveries")


def test_a_message_whose_sender_is_killed_is_sent_again_with_the_same_id(ada: User, hook: Webhook) -> None:
    endpoint, order_id = make_endpoint(ada, hook.url), order_of(ada)
    make_deliveries(endpoint, order_id, 3)
    sender = subprocess.Popen(
        [sys.executable, "-m", "tests.support.webhook_sender"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url(), "CLIENT_WEBHOOK_NETWORKS": "127.0.0.0/8"},
    )

    def kill(message: dict[str, Any]) -> int:
        if message["data"]["id"] == 1:
            hook.decide = None
            os.kill(sender.pid, signal.SIGKILL)
            sender.wait()
        return 200

    hook.decide = kill
    until(lambda: sender.poll() is not None, what="the end of the sender")
    assert states(endpoint) == ["delivered", "sending", "queued"]
    make_due()
    send_until(lambda: states(endpoint) == ["delivered"] * 3, what="the deliveries", is_hurried=True)
    assert [message["data"]["id"] for message in hook.received] == [0, 1, 1, 2]
    first, again = hook.headers[1], hook.headers[2]
    assert first["webhook-id"] == again["webhook-id"]
    assert hook.bodies[1] == hook.bodies[2]


@pytest.mark.parametrize("place", ["address", "redirect"])
def test_a_private_address_is_never_called(ada: User, hook: Webhook, settings: Any, place: str) -> None:
    url = hook.url
    if place == "address":
        settings.CONFIG = replace(settings.CONFIG, client_webhook_networks=())
    else:
        hook.status = 307
    endpoint = make_endpoint(ada, url)
    make_deliveries(endpoint, order_of(ada), 1)
    send_until(lambda: WebhookDelivery.objects.get().log, what="an attempt")
    (attempt,) = WebhookDelivery.objects.get().log
    if place == "address":
        assert "its address is not public" in attempt["error"]
        assert (attempt["status"], hook.received) == (None, [])
    else:
        assert attempt["error"].endswith("answered 307; redirects are not followed")
        assert (attempt["status"], len(hook.received)) == (307, 1)
    assert WebhookDelivery.objects.get().state == DeliveryState.QUEUED


def test_a_shift_is_woken_by_what_happens_and_survives_its_connection_being_ended(
    ada: User, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr(jobs, "is_stopping", over.is_set)
    endpoint, order_id = make_endpoint(ada, hook.url), order_of(ada)
    shift = in_thread(lambda: jobs.webhook_shift(600))
    happen(order_id)
    until(lambda: states(endpoint) == ["delivered"], what="the first delivery")
    end_other_connections()
    happen(order_id)
    until(lambda: states(endpoint) == ["delivered"] * 2, what="a delivery on a new connection")
    over.set()
    shift.result(timeout=60)


def test_nothing_is_sent_for_an_account_that_is_closed(ada: User, bob: User, hook: Webhook) -> None:
    closed, order_id = make_endpoint(ada, hook.url), order_of(ada)
    make_deliveries(closed, order_id, 1)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    happen(order_id)
    endpoint = make_endpoint(bob, hook.url)
    make_deliveries(endpoint, order_of(bob), 1)
    send_until(lambda: states(endpoint) == ["delivered"], what="the other's delivery")
    assert states(closed) == ["queued"]
    assert len(hook.received) == 1


def test_without_the_key_that_sealed_its_secret_nothing_is_sent_unsigned(ada: User, hook: Webhook) -> None:
    endpoint = make_endpoint(ada, hook.url)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(secret="sealed:bm90aGluZw==")
    make_deliveries(endpoint, order_of(ada), 1)
    send_until(lambda: WebhookDelivery.objects.get().log, what="an attempt")
    assert "make a new one" in WebhookDelivery.objects.get().log[0]["error"]
    assert json.dumps(hook.received) == "[]"


def test_what_is_logged_during_a_call_has_the_orders_id(
    ada: User, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = calls.post

    async def post_aloud(message: calls.Message) -> calls.Attempt:
        logging.getLogger("aiohttp.client").warning("posting")
        return await post(message)

    monkeypatch.setattr(calls, "post", post_aloud)
    endpoint, order_ids = make_endpoint(ada, hook.url), [order_of(ada), order_of(ada)]
    happen(*order_ids)
    with written_lines() as lines:
        send_until(lambda: states(endpoint) == ["delivered"] * 2, what="both deliveries")
    posted = [text for text in lines if "posting" in text]
    assert len(posted) == 2
    assert [order_id for order_id in order_ids if f"order_id={order_id}" not in "".join(posted)] == []
