"""Where a customer follows her parcel: the carrier's tracking number, and the page that shows where it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeGuard
from urllib.parse import quote

from sasweb.environment import Environment, invalid

LONGEST_NUMBER = 100
LONGEST_URL = 500
PLACE = "{tracking}"
"""What stands for the number in `TRACKING_URL`."""


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """A parcel's tracking number, and the url of the carrier's page about it; empty if there is none."""

    tracking: str
    url: str


def read_tracking_url(environment: Environment) -> str:
    """The url of parcels' pages, with `{tracking}` for the number; empty without one. Raises `ConfigError`."""
    url = environment.url("TRACKING_URL")
    if url and PLACE not in url:
        raise invalid("TRACKING_URL", url, f"a URL with {PLACE} in it")
    return url


@cache
def present_tracking_url() -> str:
    """That of this process."""
    return read_tracking_url(Environment())


def parcel_of(result: Mapping[str, Any] | None, *, tracking_url: str) -> Parcel | None:
    """The parcel that the carrier's answer names, if it has a usable number. Pure.

    A `tracking_url` in the answer itself goes before the setting.
    """
    tracking = (result or {}).get("tracking")
    if not isinstance(tracking, str) or not tracking or not tracking.isprintable():
        return None
    urls = ((result or {}).get("tracking_url"), tracking_url.replace(PLACE, quote(tracking, safe="")))
    usable = [url for url in urls if _is_usable(url)]
    return Parcel(tracking=tracking[:LONGEST_NUMBER], url=usable[0] if usable else "")


def _is_usable(url: object) -> TypeGuard[str]:
    """Whether a url may become a link of ours: to the web, in one word."""
    return (
        isinstance(url, str)
        and url.startswith(("https://", "http://"))
        and len(url) <= LONGEST_URL
        and url.isascii()
        and url.isprintable()
        and " " not in url
    )
