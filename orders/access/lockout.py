"""What django-axes asks of us (AXES_* in the settings): who is guessed at, from where, and the lock-out page."""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

NETWORK = 64
"""Bits of an IPv6 address that are one subscriber's; the rest he chooses, for each guess another."""


def name_of(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """The user name that is guessed at, however its letters are written."""
    given = (credentials or request.POST).get("username") or ""
    return str(given).strip().lower()[:255]


def address_of(request: HttpRequest) -> str | None:
    """The address that a guess comes from; of IPv6 the network."""
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        address = mapped or IPv6Address(int(address) >> (128 - NETWORK) << (128 - NETWORK))
    return str(address)


def show(
    request: HttpRequest, response: HttpResponse | None, credentials: Mapping[str, Any] | None
) -> HttpResponse:
    """The page for somebody who is locked out, with 429 and the seconds until the next try."""
    seconds = _seconds_left(name_of(request, credentials), address_of(request))
    context = {"minutes": max(1, -(-seconds // 60))}
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store"}
    page = render(request, "429.html", context, status=429)
    for name, value in headers.items():
        page.headers[name] = value
    return page


def _seconds_left(name: str, address: str | None) -> int:
    attempts = AccessAttempt.objects.filter(username=name, ip_address=address)
    last = attempts.order_by("-attempt_time").values_list("attempt_time", flat=True).first()
    ends = (last or timezone.now()) + settings.AXES_COOLOFF_TIME
    return max(1, int((ends - timezone.now()).total_seconds()) + 1)
