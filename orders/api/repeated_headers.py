"""Headers that a request may have only once. WSGI joins a second one to the first with a comma, as if it were one."""

from typing import Any


def is_repeated(request: Any, name: str) -> bool:
    """Whether a request has this header more than once. Only a request over ASGI tells."""
    headers = request.META.get("asgi.scope", {}).get("headers", ())
    wanted = name.lower().encode()
    # WSGI takes an underscore for a hyphen.
    return sum(header.lower().replace(b"_", b"-") == wanted for header, _ in headers) > 1
