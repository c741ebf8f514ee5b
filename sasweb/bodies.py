"""How large the body of a request may be."""

from django.conf import settings


def largest_body(path: str) -> int:
    """The most bytes that the body of a request with this path may have."""
    limit: int = settings.LARGER_BODIES.get(path, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    return limit
