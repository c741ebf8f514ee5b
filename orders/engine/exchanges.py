"""What was sent and answered by an agent's calls that succeeded: how it gets from the agent to its host.

An agent returns its result alone, so whatever makes its calls notes the exchange beside it, for operators to read.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class ExchangeNote:
    """The last exchange of an attempt. `exchange` is JSON without secrets, or None."""

    exchange: Mapping[str, Any] | None = None


_note: ContextVar[ExchangeNote | None] = ContextVar("exchange", default=None)


@contextmanager
def noting() -> Iterator[ExchangeNote]:
    """Collects what this task, and those that it starts, note until the block ends."""
    note = ExchangeNote()
    token = _note.set(note)
    try:
        yield note
    finally:
        _note.reset(token)


def note_exchange(exchange: Mapping[str, Any]) -> None:
    """Notes the exchange of a call that succeeded, in place of an earlier one, if anybody collects them."""
    note = _note.get()
    if note is not None:
        note.exchange = exchange
