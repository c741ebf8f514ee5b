"""Who may follow what. Runs in threads.

An order is followed by its owner, by the session, and by whoever bears its signed token; the console by operators.
"""

import time
from collections.abc import Mapping, Sequence
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
from orders.selectors import orders as selectors
from orders.selectors.desk.version import desk_version

CONSOLE = UUID(int=0)
"""What operators follow, in the place of an order: everything that the console shows."""


class Admitted(NamedTuple):
    """What may be followed, as it is now, and the name under which its followers are counted."""

    order_id: UUID
    version: str
    follower: str


def admit_owner(request: HttpRequest, order_id: UUID) -> Admitted | None:
    """Admits the customer whose session this is to an order of their own."""
    try:
        user_id = _user_of(request).pk
        if user_id is None or not selectors.owns_order(order_id=order_id, customer_id=user_id):
            return None
        return Admitted(order_id, selectors.order_version(order_id), f"user:{user_id}")
    finally:
        connection.close()


def admit_operator(request: HttpRequest) -> Admitted | None:
    """Admits whoever may look at the console, by the rules of its pages: session, right, second factor."""
    try:
        user = _user_of(request)
        if not user.has_perm(VIEW) or sessions.is_over(request.session, time.time()):
            return None
        is_verified = DEVICE_ID_SESSION_KEY in request.session
        if not is_verified and (settings.REQUIRE_SECOND_FACTOR or second_factor.has_factor(user)):
            return None
        return Admitted(CONSOLE, desk_version(), f"operator:{user.pk}")
    finally:
        connection.close()


def read_pulse(_watched: Sequence[UUID]) -> Mapping[UUID, str]:
    """The present version of the console. One statement, and no connection is kept."""
    try:
        return {CONSOLE: desk_version()}
    finally:
        connection.close()


def admit_bearer(order_id: UUID) -> Admitted | None:
    """Admits the bearer of an order's token, if there is such an order still.

    Such followers are counted by order: the network address would be the proxy's, or a whole office's.
    """
    try:
        if not selectors.order_exists(order_id):
            return None
        return Admitted(order_id, selectors.order_version(order_id), f"order:{order_id}")
    finally:
        connection.close()


def read_versions(order_ids: Sequence[UUID]) -> Mapping[UUID, str]:
    """The present versions of orders. One statement, and no connection is kept."""
    try:
        return selectors.order_versions(order_ids)
    finally:
        connection.close()


def _user_of(request: HttpRequest) -> Any:
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not key:
        return AnonymousUser()
    session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    session.cycle_key = lambda: (
        None
    )  # after a change of the secret key; the browser would not hear of the new one
    request.session = session
    return auth.get_user(request)
