"""Counts the API's requests by account and by token (`orders.access.limits`), and refuses those that are too many."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from orders.access.addresses import read_ip_address
from orders.access.limits import LimitedError, Subject, take
from orders.api.preferences import read_wait


class LimitThrottle(BaseThrottle):
    """Lets a request through unless one of the limits that it counts for is used up."""

    _wait: int | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the request may go on. Raises what the database raises."""
        try:
            take(_subjects(request))
        except LimitedError as error:
            self._wait = error.wait
            return False
        return True

    def wait(self) -> int | None:
        """Seconds until the client may try again."""
        return self._wait


def _subjects(request: Request) -> Iterator[Subject]:
    page = request.resolver_match.view_name if request.resolver_match else ""
    account, address = str(request.user.pk or ""), read_ip_address(request)
    if page in settings.LIMITED_SEARCHES and request.query_params:
        if account:
            yield "search.account", account
        elif address:
            yield "search.address", address
    if page == "callbacks:answer" and address:
        yield "callbacks.address", address
    elif page == "api:orders" and request.method == "POST" and account:
        yield "orders.account", account
        yield "orders.token", str(getattr(request.auth, "pk", "") or account)
    elif request.method not in SAFE_METHODS:
        if account:
            yield "posts.account", account
        elif address:
            yield "posts.address", address
    if not account:
        return
    if page == "api:order-stream" or read_wait(request) or "wait" in request.query_params:
        yield "waits.account", account
