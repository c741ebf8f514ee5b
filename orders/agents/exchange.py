"""What is kept of a call for operators: its status and headers, without secrets, and the body of an error. Pure.

The headers are masked before they leave this process, so no secret reaches the database, a log or a page.
"""

import json
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
LONGEST_BODY = 2_000
"""Characters of an error's body that are kept."""
TELLING = (
    *("content-type", "date", "server", "retry-after", "idempotent-replayed", "idempotency-replayed"),
    *("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-trace-id", "cf-ray"),
)
"""The headers that are kept of an answer to a call that succeeded, in small letters."""
SHORT_VALUE = 45
"""Characters of such a header's value that are kept: an answer must cost an order little."""

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
    body: bytes | None = b"",
) -> dict[str, Any]:
    """A call that failed, as it is kept: method, path without its query, status, headers both ways, the names of those
    that are masked, and the answer's body, if it has one. `secrets` are cut out of every value, in case the service
    repeats them."""
    shown = {text for text in secrets if text}
    both = [*_first(sent), *_first(answered)]
    text = _without((body or b"").decode(errors="replace").replace("\0", "\ufffd"), shown).strip()
    return {
        "method": method,
        "path": _without(path.partition("?")[0], shown)[:LONGEST_VALUE],
        "status": status,
        "sent": _kept(sent, shown),
        "answered": _kept(answered, shown),
        "masked": sorted({name for name, _ in both if is_secret(name)}, key=str.lower),
        **({"body": text[:LONGEST_BODY]} if text else {}),
    }


def short_exchange(
    *, method: str, path: str, status: int, answered: Mapping[str, str], secrets: Iterable[str]
) -> dict[str, Any]:
    """A call that succeeded, as it is kept: method, path, status, and the answer's `TELLING` headers.

    `answered` finds a header by its name in small letters.
    """
    shown = {text for text in secrets if text}
    return {
        "method": method,
        "path": _without(path.partition("?")[0], shown)[:LONGEST_VALUE],
        "status": status,
        "answered": {
            name: _without(value, shown)[:SHORT_VALUE]
            for name in TELLING
            if (value := answered.get(name)) is not None
        },
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
        for written in {secret, json.dumps(secret)[1:-1]}:
            text = text.replace(written, MASKED)
    return text
