"""Who may follow what. These functions read the database and run in threads.

An order may be followed by its owner, known by the session, and by the bearer of its signed token; the console, by
operators.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.http import HttpRequest
from django_otp import DEVICE_ID_SESSION_KEY

from orders.access import second_factor, sessions
from orders.access.levels import VIEW
from orders.access.limits import take
from orders.live.hub import Unsettled
from orders.selectors import changes, response_queues
from orders.selectors import orders as order_selectors
from orders.selectors.changes import FeedReader
from orders.selectors.desk.version import desk_version

CONSOLE = UUID(int=0)
"""The id that operators follow in place of an order's: it stands for everything that the console shows."""


class Admission(NamedTuple):
    """A stream's subject and its current version, and the name under which its followers are counted."""

    order_id: UUID
    version: str
    follower: str


def count_and_admit(address: str, admit: Callable[[], Admission | None]) -> Admission | None:
    """Counts a stream of this IP address, then admits its reader. Raises `LimitedError`."""
    try:
        take([("streams.address", address)])
        return admit()
    finally:
        connection.close()


def admit_owner(request: HttpRequest, order_id: UUID) -> Admission | None:
    """Admits the customer whose session this is to one of her own orders."""
    try:
        user_id = _user_of(request).pk
        if user_id is None or not order_selectors.owns_order(order_id=order_id, customer_id=user_id):
            return None
        return Admission(order_id, order_selectors.order_version(order_id), f"order:{order_id}")
    finally:
        connection.close()


def admit_operator(request: HttpRequest) -> Admission | None:
    """Admits operators by the rules of the console's pages: session, access level, second factor."""
    try:
        user = _user_of(request)
        if not user.has_perm(VIEW) or sessions.is_over(request.session, time.time()):
            return None
        is_verified = DEVICE_ID_SESSION_KEY in request.session
        if not is_verified and (settings.REQUIRE_SECOND_FACTOR or second_factor.has_factor(user)):
            return None
        return Admission(CONSOLE, desk_version(), f"operator:{user.pk}")
    finally:
        connection.close()


def read_desk_version(_watched: Sequence[UUID]) -> Mapping[UUID, str]:
    """Reads the console's current version. One statement; the connection is closed."""
    try:
        return {CONSOLE: desk_version()}
    finally:
        connection.close()


def admit_bearer(order_id: UUID) -> Admission | None:
    """Admits the bearer of an order's token, if the order still exists."""
    try:
        if not order_selectors.order_exists(order_id):
            return None
        return Admission(order_id, order_selectors.order_version(order_id), f"order:{order_id}")
    finally:
        connection.close()


def read_versions(order_ids: Sequence[UUID]) -> Mapping[UUID, str]:
    """Reads the current versions of orders. One statement; the connection is closed."""
    try:
        return order_selectors.order_versions(order_ids)
    finally:
        connection.close()


def read_queues(watched: Sequence[response_queues.Awaited]) -> Mapping[response_queues.Awaited, str]:
    """Reads whether response queues have what somebody waits for. One statement; the connection is closed."""
    try:
        return response_queues.versions(watched)
    finally:
        connection.close()


def read_feeds(watched: Sequence[FeedReader]) -> Mapping[FeedReader, str]:
    """Reads for whom there are changes. One statement; the connection is closed."""
    try:
        readers, is_settled = changes.changed(watched)
    finally:
        connection.close()
    versions = dict.fromkeys(readers, changes.FILLED)
    return versions if is_settled else Unsettled(versions)


def _user_of(request: HttpRequest) -> Any:
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not key:
        return AnonymousUser()
    session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    # After a change of the secret key, Django would give the session a new key, which the browser would never learn.
    session.cycle_key = lambda: None
    request.session = session
    return auth.get_user(request)
