"""Which addresses a call to a url that somebody has named may reach: public ones, and networks that a setting allows.

A webhook's host may be anybody's. Without this check it could lead into our own network, for example to the address
where a cloud gives out credentials.
"""

import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

GLOBAL_UNICAST = IPv6Network("2000::/3")
TRANSLATED = IPv6Network("64:ff9b::/96")
"""Where a network that only has IPv6 finds IPv4 hosts: the last 32 bits are the IPv4 address."""


def is_public(address: Address) -> bool:
    """Whether an address is a public host's. One that only wraps an IPv4 address is not, except in `TRANSLATED`."""
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    if address in TRANSLATED:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return (
        address in GLOBAL_UNICAST
        and address.is_global
        and address.sixtofour is None
        and address.teredo is None
    )


def is_within(address: Address, networks: Iterable[Network]) -> bool:
    """Whether one of the networks has this address."""
    return any(address in network for network in networks)


def may_be_called(url: str, networks: Sequence[Network]) -> bool:
    """Whether a url may be called as far as one can see without looking up its host, whose addresses are checked at
    each call."""
    parts = urlsplit(url)
    address = read_literal(parts.hostname or "")
    may_be_internal = is_within(address, networks) if address else bool(networks)
    return may_be_internal or (parts.scheme == "https" and (address is None or is_public(address)))


def read_literal(host: str) -> Address | None:
    """The address that a host of a url stands for without a name server, also in forms such as `0x7f.1`."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def read_networks(names: Iterable[str]) -> tuple[Network, ...]:
    """Reads networks such as `10.1.0.0/16`, and single addresses. Raises `ValueError`."""
    return tuple(ip_network(name.strip()) for name in names)
