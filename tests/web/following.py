"""Helpers for following an order: cookies and paths, events of the order, and the connections that a server holds."""

from uuid import UUID

from django.conf import settings
from django.db import transaction
from rest_framework.test import APIClient

from orders.access.guest_links import make_token
from orders.engine import state_store
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import Actor, EventRow
from orders.engine.runtime.sql import fetch
from orders.selectors import orders as order_selectors
from orders.vocabulary import ActorKind
from tests.support.people import signed_in


def cookie(client: APIClient) -> str:
    """The session cookie of somebody who has signed in with a browser."""
    browser = signed_in(client.user)
    return f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"


def as_owner(order_id: UUID) -> str:
    return f"/events/orders/{order_id}/"


def as_guest(order_id: UUID) -> str:
    return f"/events/o/{make_token(order_id)}/"


def happen(order_id: UUID, *, silently: bool = False) -> str:
    """Records an event of an order, and returns the order's new version."""
    with transaction.atomic():
        state_store.record_events(
            [EventRow(order_id, "step_started", Actor(ActorKind.SCHEDULER, "scheduler:test"))]
        )
        if not silently:
            wake(Topic.PROGRESS)
    return order_selectors.order_version(order_id)


def listening(name: str) -> list[int]:
    """The process IDs of a server's listeners: their last statement is LISTEN, or the check that they are alive.

    A pooled connection runs the same check just before it is used, so wait for the number that you expect.
    """
    rows = fetch(
        """
        SELECT pid FROM pg_stat_activity
         WHERE application_name = %s AND datname = current_database() AND (query LIKE 'LISTEN%%' OR query = 'SELECT 1')
        """,
        [f"web {name}"],
    )
    return [pid for (pid,) in rows]


def sessions(name: str) -> int:
    ((count,),) = fetch("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [f"web {name}"])
    return int(count)
