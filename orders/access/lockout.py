"""The callables of django-axes (AXES_* in the settings): the account, the IP address and the lock-out page."""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

NETWORK = 64
"""Bits of an IPv6 address that identify a subscriber, who can choose the rest anew for each guess."""


def read_username(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """Returns the username of an attempt to sign in, in lower case."""
    username = (credentials or request.POST).get("username") or ""
    return str(username).strip().lower()[:255]


def read_ip_address(request: HttpRequest) -> str | None:
    """Returns the IP address that an attempt comes from; for IPv6, its network. None if it has none."""
    try:
        client = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return None
    if isinstance(client, IPv6Address):
        network = IPv6Address(int(client) >> (128 - NETWORK) << (128 - NETWORK))
        client = client.ipv4_mapped or network
    return str(client)


def show(
    request: HttpRequest, response: HttpResponse | None, credentials: Mapping[str, Any] | None
) -> HttpResponse:
    """Answers a locked-out user with status 429 and the seconds until the next attempt."""
    seconds = _seconds_left(read_username(request, credentials), read_ip_address(request))
    context = {"minutes": max(1, -(-seconds // 60))}
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store"}
    page = render(request, "429.html", context, status=429)
    for name, value in headers.items():
        page.headers[name] = value
    return page


def _seconds_left(username: str, client: str | None) -> int:
    attempts = AccessAttempt.objects.filter(username=username, ip_address=client)
    last = attempts.order_by("-attempt_time").values_list("attempt_time", flat=True).first()
    ends = (last or timezone.now()) + settings.AXES_COOLOFF_TIME
    return max(1, int((ends - timezone.now()).total_seconds()) + 1)
