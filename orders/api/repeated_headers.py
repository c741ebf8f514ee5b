"""Headers that a request may have only once. WSGI joins a second one to the first with a comma, as if it were one."""

from collections.abc import Iterable
from typing import Any


def is_repeated(request: Any, name: str) -> bool:
    """Whether a request has this header more than once. Only a request over ASGI tells."""
    headers: Iterable[tuple[bytes, bytes]] = request.META.get("asgi.scope", {}).get("headers", ())
    # WSGI takes an underscore for a hyphen.
    names = [header.lower().replace(b"_", b"-") for header, _ in headers]
    return names.count(name.lower().encode()) > 1
