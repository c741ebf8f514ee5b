"""Whom a request comes from when there are proxies in front: `TRUSTED_PROXIES`.

A proxy that is trusted appends to `X-Forwarded-For` the address that it saw. So the list is read from its end: the
first address that is no trusted proxy is the client's, and what stands before it was written by the client. Nobody
else's headers are believed.
"""

from collections.abc import MutableMapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any

import structlog

from sasweb.public_hosts import Address, Network, is_within

log = structlog.get_logger()

FORWARDED_FOR, FORWARDED_PROTO = b"x-forwarded-for", b"x-forwarded-proto"
MOST_PROXIES = 20
"""Addresses that are read from the end of the list. Nobody has more proxies in a row."""

_warned: list[str] = []


def see_through(scope: MutableMapping[str, Any], trusted: Sequence[Network]) -> None:
    """Replaces the client of an ASGI scope, and its scheme, by what trusted proxies say."""
    peer = _read((scope.get("client") or ("", 0))[0])
    if peer is None:
        return
    if not is_within(peer, trusted):
        _warn_once(peer, scope)
        return
    scope["client"] = (str(_client(peer, _values(scope, FORWARDED_FOR), trusted)), 0)
    schemes = _values(scope, FORWARDED_PROTO)
    if schemes and schemes[-1] in ("http", "https"):
        scope["scheme"] = schemes[-1]


def _client(peer: Address, forwarded: Sequence[str], trusted: Sequence[Network]) -> Address:
    """The last address that is no trusted proxy. An entry that cannot be read hides what is before it."""
    client = peer
    for text in reversed(forwarded[-MOST_PROXIES:]):
        address = _read(text)
        if address is None:
            break
        client = address
        if not is_within(address, trusted):
            break
    return client


def _read(text: str) -> Address | None:
    """An address, perhaps with a port or in brackets, as some proxies write it; None if it is not one."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _values(scope: MutableMapping[str, Any], name: bytes) -> list[str]:
    """The comma-separated values of a header, which may be there several times."""
    lines = (value.decode("latin-1") for key, value in scope["headers"] if key == name)
    return [part.strip() for line in lines for part in line.split(",") if part.strip()]


def _warn_once(peer: Address, scope: MutableMapping[str, Any]) -> None:
    """Says that a proxy may be missing from the setting: then all its clients would seem to be one."""
    if not _warned and not peer.is_global and _values(scope, FORWARDED_FOR):
        _warned.append(str(peer))
        log.warning(
            "X-Forwarded-For ignored",
            action="serve",
            peer=str(peer),
            hint="if this is your proxy, put its address into TRUSTED_PROXIES; else all its clients count as one",
        )
