"""What is kept of a call that failed, for operators: its status and headers, without secrets. Pure.

The headers are masked before they leave this process, so no secret reaches the database, a log or a page.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASKED = "(masked)"
"""Stands for the value of a header that may hold a secret."""
MOST_HEADERS = 12
"""Headers that are kept of each direction."""
LONGEST_NAME = 60
"""Characters of a header's name that are kept."""
LONGEST_VALUE = 120
"""Characters of a header's value that are kept."""

_SECRET = re.compile(
    r"auth|cookie|token|secret|password|credential|session|signature|api-?key|(^|-)key$", re.I
)
_PUBLIC = frozenset({"idempotency-key"})
"""Named like a secret, and shown: it is on the page of the order anyway."""


def is_secret(header: str) -> bool:
    """Whether a header of this name may hold a secret."""
    return _SECRET.search(header) is not None and header.lower() not in _PUBLIC


def exchange(
    *,
    method: str,
    path: str,
    sent: Mapping[str, str],
    status: int,
    answered: Mapping[str, str],
    secrets: Iterable[str],
) -> dict[str, Any]:
    """The call as it is kept: method, path without its query, status, headers both ways, and the names of those that
    are masked. `secrets` are cut out of every value, in case the service repeats them."""
    shown = {text for text in secrets if text}
    both = [*_first(sent), *_first(answered)]
    return {
        "method": method,
        "path": _without(path.partition("?")[0], shown)[:LONGEST_VALUE],
        "status": status,
        "sent": _kept(sent, shown),
        "answered": _kept(answered, shown),
        "masked": sorted({name for name, _ in both if is_secret(name)}, key=str.lower),
    }


def _first(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name[:LONGEST_NAME], value) for name, value in list(headers.items())[:MOST_HEADERS]]


def _kept(headers: Mapping[str, str], secrets: Iterable[str]) -> dict[str, str]:
    return {
        name: MASKED if is_secret(name) else _without(value, secrets)[:LONGEST_VALUE]
        for name, value in _first(headers)
    }


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, MASKED)
    return text
