"""The IP address by which a client is counted."""

from ipaddress import IPv6Address, ip_address

from django.http import HttpRequest

NETWORK = 64
"""Bits of an IPv6 address that identify a subscriber, who can choose the rest anew for each request."""


def counted_address(text: str) -> str | None:
    """An IP address as it is counted: for IPv6, its network. None if it is not one."""
    try:
        client = ip_address(text)
    except ValueError:
        return None
    if isinstance(client, IPv6Address):
        network = IPv6Address(int(client) >> (128 - NETWORK) << (128 - NETWORK))
        client = client.ipv4_mapped or network
    return str(client)


def read_ip_address(request: HttpRequest) -> str | None:
    """The counted IP address that a request comes from (`sasweb.proxies`). None if it has none."""
    return counted_address(request.META.get("REMOTE_ADDR", ""))
