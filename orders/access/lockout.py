"""Slows down guessing of passwords, without locking the owner out.

Ten wrong passwords lock an account for the IP address that they came from (django-axes, AXES_* in the settings).
Guesses from many addresses meet a second, wider limit on the account's name alone, `sign_in.name`. A locked name
does not concern a browser in which the owner has signed in before, nor an account with a second factor, which a
password alone does not open.
"""

from collections.abc import Mapping
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from orders.access.addresses import read_ip_address
from orders.access.known_devices import is_known
from orders.access.limits import LimitedError, seconds_until_room, take
from orders.access.second_factor import has_factor

LOCKED_BY_NAME = "_locked_by_name"
"""Attribute of a request whose password was not checked, because of `sign_in.name`."""
UNLOCKED = "_unlocked"
"""Attribute of a request whose password is checked, since neither lock has stopped it."""


class NameLock:
    """Authenticates nobody, and refuses to have another password checked for a name that was guessed too often."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        """Raises `PermissionDenied`."""
        if request is None:
            return
        name = read_username(request, credentials)
        if not seconds_until_room(("sign_in.name", name)) or _may_pass(request, name):
            setattr(request, UNLOCKED, True)
            return
        setattr(request, LOCKED_BY_NAME, True)
        request.axes_locked_out = True  # type: ignore[attr-defined]  # has django-axes show the page
        raise PermissionDenied("too many wrong passwords for this name")


def count_failure(request: HttpRequest, credentials: Mapping[str, Any]) -> bool:
    """Counts a failure to sign in for its name. False if there have been too many already.

    An attempt whose password was not read, because its address is locked, is no guess, and does not lock the name from
    everywhere. It has a limit of its own, beyond which it is not noted.
    """
    if getattr(request, LOCKED_BY_NAME, False):
        return False
    limit = "sign_in.name" if was_checked(request) else "sign_in.locked"
    try:
        take([(limit, read_username(request, credentials))])
    except LimitedError:
        return False
    return True


def was_checked(request: HttpRequest) -> bool:
    """Whether the password of an attempt to sign in was checked, and not refused unread because its name is locked.

    The mark of django-axes does not tell: the password that locks a name has it too, and was checked.
    """
    return getattr(request, UNLOCKED, False)


def read_username(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """Returns the username of an attempt to sign in, in lower case."""
    username = (credentials or request.POST).get("username") or ""
    return str(username).strip().lower()[:255]


def show(
    request: HttpRequest, response: HttpResponse | None, credentials: Mapping[str, Any] | None
) -> HttpResponse:
    """Answers a locked-out user with status 429 and the seconds until the next attempt."""
    seconds = _seconds_left(request, read_username(request, credentials))
    context = {"minutes": max(1, -(-seconds // 60))}
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store"}
    page = render(request, "429.html", context, status=429)
    for name, value in headers.items():
        page.headers[name] = value
    return page


def _may_pass(request: HttpRequest, name: str) -> bool:
    user = User.objects.filter(username=name).first()
    return user is not None and (is_known(request, user) or has_factor(user))


def _seconds_left(request: HttpRequest, username: str) -> int:
    if getattr(request, LOCKED_BY_NAME, False):
        return max(1, seconds_until_room(("sign_in.name", username)))
    attempts = AccessAttempt.objects.filter(username=username, ip_address=read_ip_address(request))
    last = attempts.order_by("-attempt_time").values_list("attempt_time", flat=True).first()
    ends = (last or timezone.now()) + settings.AXES_COOLOFF_TIME
    return max(1, int((ends - timezone.now()).total_seconds()) + 1)
