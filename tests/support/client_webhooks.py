"""Clients' webhooks for tests: endpoints and messages in any state, and a sender that works until something is so."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import F

from orders.api.feed_views import change_bodies
from orders.engine import state_store
from orders.engine.rows import Actor, EventRow
from orders.models import WebhookDelivery, WebhookEndpoint
from orders.selectors.changes import latest, look
from orders.vocabulary import ActorKind, EventKind
from orders.webhooks import deliveries
from orders.webhooks.calls import Attempt, write_body
from orders.webhooks.deliveries import Assignment, claim
from orders.webhooks.endpoints import PURPOSE
from orders.webhooks.sender import Sender
from sasweb.sealing import seal
from tests.support.factories import ago, make_order, make_purchase
from tests.support.wait import until

SECRET = bytes(range(32))
URL = "https://receiver.example/hook"
ME = Actor(ActorKind.SCHEDULER, "scheduler:test")


def make_endpoint(customer: User, url: str, **fields: Any) -> WebhookEndpoint:
    """A webhook that receives what happens from now on, signed by `SECRET`."""
    values = {"secret": seal(SECRET, purpose=PURPOSE), **latest(look())._asdict(), **fields}
    return WebhookEndpoint.objects.create(customer=customer, url=url, **values)


def make_deliveries(endpoint: WebhookEndpoint, order_id: UUID, number: int, **fields: Any) -> list[int]:
    """So many messages of one order, of which the first is due."""
    last = WebhookDelivery.objects.count()
    rows = [
        WebhookDelivery(
            endpoint=endpoint,
            order_id=order_id,
            event_id=last + index,
            message_id=f"evt_{last + index}",
            kind="step_started",
            body=write_body("order.step_started", at=ago(0), data={"order_id": str(order_id), "id": index}),
            **{"due_at": None if index else ago(1), **fields},
        )
        for index in range(number)
    ]
    return [row.pk for row in WebhookDelivery.objects.bulk_create(rows)]


def order_of(customer: User | None) -> UUID:
    """An order of this customer."""
    order_id: UUID = make_order().pk
    make_purchase(order_id, customer=customer)
    return order_id


def happen(*order_ids: UUID, step: str = "", kind: EventKind = EventKind.STEP_STARTED) -> None:
    """Something happens to each of these orders."""
    state_store.record_events([EventRow(order_id, kind, ME, step) for order_id in order_ids])


def make_due() -> None:
    """Moves the time until every retry is due, and every lease has lapsed."""
    WebhookDelivery.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - timedelta(hours=1))


def send_until(
    question: Callable[[], object], *, what: str, most: int = 100, is_hurried: bool = False
) -> None:
    """Runs a sender until it is so. With `is_hurried` no retry waits for its time."""
    with Sender(render=change_bodies, most=most) as sender:

        def look() -> object:
            sender.run_once()
            sender.rest(0.05)
            if is_hurried:
                hurry()
            return question()

        until(look, what=what)


def hurry() -> None:
    """Makes the retries due, and leaves what is being sent alone."""
    WebhookDelivery.objects.filter(due_at__isnull=False, state="queued").update(due_at=ago(1))


def states(endpoint: WebhookEndpoint) -> Sequence[str]:
    """The states of the messages to a webhook, in the order of the feed."""
    return list(
        WebhookDelivery.objects.filter(endpoint=endpoint).order_by("id").values_list("state", flat=True)
    )


class Hanging:
    """A receiver's decision that comes when the test says so."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def __call__(self, _message: dict[str, Any]) -> int:
        with suppress(TimeoutError):
            self.over.wait(120)
        return 200


def attempt(status: int | None = 200, error: str = "") -> Attempt:
    """How a call went."""
    is_refused = status is None or not 200 <= status < 300
    return Attempt(
        at=datetime.now(UTC),
        seconds=0.1,
        headers={"webhook-id": "evt"},
        status=status,
        answer="",
        error=error or (f"receiver.example answered {status}" if is_refused else ""),
    )


def record(assignment: Assignment, end: Attempt) -> None:
    """Writes how one call ended."""
    deliveries.record(assignment.endpoint_id, [(assignment, end)])


def next_ids() -> list[int]:
    """Claims the messages that are next, and returns their ids."""
    return sorted(assignment.delivery_id for assignment in claim(limit=100))


def now_of(delivery_id: int) -> WebhookDelivery:
    """The row of a message as it is now."""
    return WebhookDelivery.objects.get(pk=delivery_id)


def reread(endpoint: WebhookEndpoint) -> WebhookEndpoint:
    """The row of a webhook as it is now."""
    return WebhookEndpoint.objects.get(pk=endpoint.pk)
