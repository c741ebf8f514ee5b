"""Remembers the browsers in which somebody has signed in, so that strangers who guess her password elsewhere do not
lock her out (`orders.access.lockout`).

A browser keeps one signed cookie, with the account that signed in there last. A new password makes it worthless.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.crypto import constant_time_compare

SALT = "orders.access.known_devices"
MAX_AGE = 180 * 24 * 3600
"""Seconds for which a browser is remembered."""
JUST_PROVED = "_proved_owner"
"""Attribute of a request that has proved to come from an account's owner."""


def remember(request: HttpRequest, user: Any) -> None:
    """Has the response to this request make its browser a known one of this account."""
    setattr(request, JUST_PROVED, user)


def is_known(request: HttpRequest, user: User) -> bool:
    """Whether this account has signed in, or has set its password, in this browser."""
    try:
        cookie = request.COOKIES.get(settings.DEVICE_COOKIE_NAME, "")
        account, stamp = signing.loads(cookie, salt=SALT, max_age=MAX_AGE)
    except (signing.BadSignature, ValueError, TypeError):
        return False
    return bool(account == user.pk and constant_time_compare(stamp, user.get_session_auth_hash()))


class KnownDevices:
    """Middleware that sends the cookie."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        user = getattr(request, JUST_PROVED, None)
        if user is not None:
            response.set_cookie(
                settings.DEVICE_COOKIE_NAME,
                signing.dumps([user.pk, user.get_session_auth_hash()], salt=SALT),
                max_age=MAX_AGE,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response


def _note_sign_in(sender: Any, request: HttpRequest | None, user: Any, **_: Any) -> None:
    if request is not None:
        remember(request, user)


user_logged_in.connect(_note_sign_in, dispatch_uid="orders.access.known_devices")
