"""The end of an operator's session: after 15 minutes without a request, and after 8 hours in any case.

It is an operator's from the first request to the console or the admin site on, which must come within those 8 hours
after the sign-in; customers' sessions live as long as ever.
"""

import time
from collections.abc import Callable, MutableMapping
from typing import Any

from django.conf import settings
from django.contrib import auth, messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

SINCE = "operator_since"
SEEN = "operator_seen"
"""Where a session has its beginning and its last request, in seconds of the epoch."""

GUARDED = {"console", "admin"}
STEP = 30.0
"""Seconds that the last request is remembered by, so that not each of them writes the session."""
LIVE = "X-Live"
"""The header of a request that a page makes by itself: nobody need sit before it."""


class OperatorSessions:
    """The middleware that ends them. It stands before that which asks strangers to sign in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_args: Any) -> None:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return
        match = request.resolver_match
        is_guarded = match is not None and bool(GUARDED & set(match.namespaces))
        is_marked = SINCE in request.session
        if not (is_guarded or is_marked) or not request.user.is_authenticated:
            return
        if not is_marked:
            signed_in = request.user.last_login
            request.session[SINCE] = signed_in.timestamp() if signed_in else time.time()
        now = time.time()
        if is_over(request.session, now):
            auth.logout(request)
            messages.info(request, _("You were signed out, for safety. Please sign in again."))
        elif LIVE not in request.headers and now - request.session.get(SEEN, 0) > STEP:
            request.session[SEEN] = now


def is_over(session: MutableMapping[str, Any], now: float) -> bool:
    """Whether an operator's session has been idle, or has lasted, too long. `now` in seconds of the epoch."""
    idle = now - session.get(SEEN, now)
    age = now - session.get(SINCE, now)
    return idle > settings.OPERATOR_IDLE.total_seconds() or age > settings.OPERATOR_SESSION.total_seconds()
