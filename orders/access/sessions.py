"""Ends an operator's session: after 15 minutes without a request, and after 8 hours in any case.

A session becomes an operator's with its first request to the console or the admin site. That request must come within
8 hours of signing in. Customers' sessions are not affected.
"""

import time
from collections.abc import Callable, MutableMapping
from typing import Any

from django.conf import settings
from django.contrib import auth, messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from orders.access.levels import OPERATOR_NAMESPACES

SINCE = "operator_since"
SEEN = "operator_seen"
"""Session keys: when it began and when its last request came, in seconds since the epoch."""

STEP = 30.0
"""Seconds between two updates of `SEEN`, so that not every request writes the session."""
LIVE = "X-Live"
"""Header of an automatic request of a page. It does not keep a session alive: nobody may be at the screen."""


class OperatorSessions:
    """Middleware that ends operators' sessions. It must come before the one that asks strangers to sign in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_args: Any) -> None:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return
        match = request.resolver_match
        is_guarded = match is not None and bool(OPERATOR_NAMESPACES & set(match.namespaces))
        is_marked = SINCE in request.session
        if not (is_guarded or is_marked) or not request.user.is_authenticated:
            return
        if not is_marked:
            signed_in = request.user.last_login
            request.session[SINCE] = signed_in.timestamp() if signed_in else time.time()
        now = time.time()
        if is_over(request.session, now):
            auth.logout(request)
            messages.info(request, "Your session has ended for security. Please sign in again.")
        elif LIVE not in request.headers and now - request.session.get(SEEN, 0) > STEP:
            request.session[SEEN] = now


def is_over(session: MutableMapping[str, Any], now: float) -> bool:
    """Whether an operator's session has been idle, or has lasted, too long. `now` is in seconds since the epoch."""
    is_idle = now - session.get(SEEN, now) > settings.OPERATOR_IDLE.total_seconds()
    is_old = now - session.get(SINCE, now) > settings.OPERATOR_SESSION.total_seconds()
    return bool(is_idle or is_old)
