"""Helpers for following an order: servers, cookies and paths, streams, and the connections that a server holds."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from orders.access.guest_links import make_token
from orders.engine import state_store
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import Actor, EventRow
from orders.engine.runtime.sql import fetch
from orders.selectors import orders as order_selectors
from orders.vocabulary import ActorKind
from tests.support.people import signed_in
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.helpers import place, run_submission
from tests.web.server import Server
from tests.web.sse import Stream

EACH = 6
"""Streams that one reader may have."""


def cookie(client: APIClient) -> str:
    """The session cookie of somebody who has signed in with a browser."""
    return session_cookie(signed_in(client.user))


def session_cookie(browser: Client) -> str:
    """The session cookie of this browser, as a header's value."""
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


def happen_to_all(order_ids: Iterable[UUID]) -> None:
    """Records an event of each of these orders, in one transaction."""
    with transaction.atomic():
        state_store.record_events(
            [
                EventRow(order_id, "step_started", Actor(ActorKind.SCHEDULER, "scheduler:test"))
                for order_id in set(order_ids)
            ]
        )
        wake(Topic.PROGRESS)


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


def about(name: str) -> dict[str, str]:
    """The arguments of a server whose database connections have this name."""
    return {"database_url": database_url(), "PGAPPNAME": f"web {name}"}


def started(server: Server) -> Iterator[Server]:
    """A fixture's server: starts it, stops it, and fails if it has logged an error."""
    try:
        until(server.answers, what="the server")
        yield server
        server.stop()
        log = server.log.read_text()
        assert "Traceback" not in log, log
        assert "ERROR" not in log, log
    finally:
        server.end()


def open_many(server: Server, order_ids: list[UUID]) -> list[Stream]:
    """Opens a guest's stream for each of these orders, all at once, no more than 48 from one IP address."""
    with ThreadPoolExecutor(32) as clients:
        return list(
            clients.map(
                lambda numbered: Stream(
                    server, as_guest(numbered[1]), source=f"127.0.1.{numbered[0] // 48}"
                ).open(),
                enumerate(order_ids),
            )
        )


def many_orders(client: APIClient, count: int) -> list[UUID]:
    """The orders of this many streams, six streams for each order."""
    order_ids = [UUID(place(client)["id"]) for _ in range(count // EACH)]
    run_submission()
    return order_ids * EACH
