"""Answers that the event loop holds until something happens. They take no thread and no database connection.

A view that is asked to wait answers at once, with what is right if nothing happens, and says in the request's scope
what it waits for. The event loop keeps that answer. It sends it when the time is over. If something happens before,
the request is passed to its view once more, without its body, and that answer is sent instead. A stream is held in the
same way: the view's answer is its beginning.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

HOLD = "sasweb.hold"
"""Set in the scope of a request whose answer is to be held, by its view: a `Wait` or a `Stream`."""
RESUMED = "sasweb.resumed"
"""Set in the scope of a request that is passed to its view once more: its `Outcome`."""


class Outcome(StrEnum):
    """Why a request is passed to its view once more."""

    CHANGED = "changed"
    CROWDED = "crowded"
    """There was no room to hold it."""


class Part(NamedTuple):
    """What a stream sends about a version of its subject. Nothing follows the last part."""

    version: str
    body: bytes
    is_last: bool


@dataclass(frozen=True, kw_only=True)
class Hold:
    """What an answer waits for: another version than this one of an order, or of what is on a response queue.

    `clients` are the names under which it is counted: its account's and its IP address's.
    """

    subject: Hashable
    version: str
    clients: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Wait(Hold):
    """An answer that is held once, for so many seconds at most."""

    seconds: float


@dataclass(frozen=True, kw_only=True)
class Stream(Hold):
    """An answer that goes on. `read` runs in a thread, after each change, and closes its database connection."""

    read: Callable[[], Part]
