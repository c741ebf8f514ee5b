"""The `traceparent` that a request came with (W3C Trace Context). The traces of orders link to it, and never join it: a
client does not decide what we record."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[str] = ContextVar("traceparent", default="")


@contextmanager
def keep(header: str) -> Iterator[None]:
    """Makes this the `traceparent` of the request that is answered until the block ends."""
    token = _current.set(header)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> str:
    """The `traceparent` of the request that is being answered, as it came; empty if it had none."""
    return _current.get()
