"""Counts the API's requests by account and by token (`orders.access.limits`), and refuses those that are too many."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from orders.access.addresses import read_ip_address
from orders.access.limited_requests import SEARCH
from orders.access.limits import Subject
from orders.api.preferences import read_wait
from orders.api.rate_limits import count, stranger

WITHOUT_DATABASE = frozenset({"api:schema", "api:docs", "api:problems", "api:problem"})
"""What is answered although the database cannot be asked."""

SEARCHES = "api:order-search"
"""The list that operators search, which is counted as the console's is."""


class LimitThrottle(BaseThrottle):
    """Lets a request through unless one of the limits that it counts for is used up."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the request may go on. Raises `RateLimitedError`, and what the database raises."""
        try:
            count(request, often=list(_reads(request)), each=_subjects(request))
        except (OperationalError, InterfaceError):
            if _page(request) not in WITHOUT_DATABASE:
                raise  # the view would wait for the same database once more
        return True


def _page(request: Request) -> str:
    return request.resolver_match.view_name if request.resolver_match else ""


def _reads(request: Request) -> Iterator[Subject]:
    if request.method not in SAFE_METHODS:
        return
    if request.user.pk:
        yield "reads.account", str(request.user.pk)
    else:
        yield from stranger(request)


def subjects_of_orders(request: Request) -> Sequence[Subject]:
    """Who is counted for the orders that a request with a token places."""
    return subjects_of(request.user.pk, getattr(request.auth, "pk", None))


def subjects_of(account_id: int | None, token_id: int | None) -> Sequence[Subject]:
    """Who is counted for the orders of an account."""
    return ("orders.account", str(account_id)), ("orders.token", str(token_id or account_id))


def _subjects(request: Request) -> Iterator[Subject]:
    page = _page(request)
    account, address = str(request.user.pk or ""), read_ip_address(request)
    if page in settings.LIMITED_SEARCHES and request.query_params:
        if account:
            yield "search.account", account
        elif address:
            yield "search.address", address
    if account and page == SEARCHES and request.query_params.get(SEARCH):
        yield "search.account", account
    if page == "callbacks:answer" and request.method == "POST" and address:
        yield "callbacks.address", address
    elif page == "api:orders" and request.method == "POST" and account:
        yield from subjects_of_orders(request)
    elif request.method not in SAFE_METHODS:
        if account and page == "api:webhook-test":
            yield "webhook_tests.account", account
        elif account:
            yield "posts.account", account
        elif address:
            yield "posts.address", address
    if not account:
        return
    if page == "api:order-stream" or read_wait(request) or _options(request, page).get("wait"):
        yield "waits.account", account


def _options(request: Request, page: str) -> Any:
    """Where a request may ask to wait: in its query, or in its body if it leases messages."""
    if page == "api:queue-lease" and isinstance(request.data, Mapping):
        return request.data
    return request.query_params
