"""How often one client may do what costs others something: the figures, and how `LIMITS` changes them.

Each limit counts one kind of act by one kind of subject, which is the second part of its name: an IP address, a
browser's session, an account, an API token, or the recipient of an email. `orders.access.limits` keeps the counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

MINUTE, HOUR = 60, 3_600

OFF = "off"


@dataclass(frozen=True, kw_only=True)
class Limit:
    """At most `most` acts at once, and as many again every `seconds`, spread evenly."""

    most: int
    seconds: int

    @property
    def share(self) -> float:
        """The seconds after which there is one more."""
        return self.seconds / self.most


Limits = Mapping[str, Limit]

DEFAULTS: Limits = {
    name: Limit(most=most, seconds=seconds)
    for name, most, seconds in (
        ("orders.account", 600, MINUTE),
        ("orders.token", 300, MINUTE),
        ("cart.address", 300, 10 * MINUTE),
        ("checkout.session", 10, 10 * MINUTE),
        ("checkout.address", 60, 10 * MINUTE),
        ("checkout.recipient", 20, HOUR),
        ("sign_up.address", 20, HOUR),
        ("sign_in.address", 20, MINUTE),
        ("sign_in.name", 100, HOUR),
        ("sign_in.locked", 100, HOUR),
        ("emails.address", 20, HOUR),
        ("emails.recipient", 5, HOUR),
        ("callbacks.address", 6_000, MINUTE),
        ("reads.account", 12_000, MINUTE),
        ("anonymous.address", 6_000, MINUTE),
        ("search.address", 120, MINUTE),
        ("search.account", 120, MINUTE),
        ("export.account", 30, HOUR),
        ("waits.account", 600, MINUTE),
        ("refusals.account", 100, HOUR),
        ("streams.address", 300, MINUTE),
        ("posts.address", 600, MINUTE),
        ("posts.account", 3_000, MINUTE),
        ("webhook_tests.account", 10, MINUTE),
    )
}
"""Far above what people and well-behaved programs do, also several behind one IP address."""


def read_limits(text: str) -> Limits:
    """The limits that `LIMITS` asks for: the defaults, except for what it names.

    `orders.token=50/60` allows 50 in 60 seconds, `orders.token=off` any number, and `off` alone ends all limits.
    Raises `ValueError`.
    """
    if text.strip() == OFF:
        return {}
    limits = dict(DEFAULTS)
    for part in text.split(",") if text.strip() else []:
        name, _, figures = part.strip().partition("=")
        if name not in DEFAULTS:
            raise ValueError(f"unknown limit {name!r}")
        if figures == OFF:
            limits.pop(name, None)
            continue
        most, _, seconds = figures.partition("/")
        if not (_is_number(most) and _is_number(seconds)):
            raise ValueError(f"unknown figures {figures!r}")
        limits[name] = Limit(most=int(most), seconds=int(seconds))
    return limits


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 8 and int(text) > 0
