"""The id of a request, which its answer carries as X-Request-ID and its log lines as `request_id`."""

import re
import secrets

SANE = re.compile(r"[A-Za-z0-9._-]{8,64}")


def keep_or_make(header: str) -> str:
    """The id that a request came with in X-Request-ID; a new one if it has none, or none that we would log."""
    return header if SANE.fullmatch(header) else secrets.token_hex(16)
