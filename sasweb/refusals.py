"""Repeats refusals, so that a flood from one IP address costs little.

A request that was refused for nothing but its IP address would be refused again. For a moment, the next ones of that
address to that page get the same answer at once: no thread, no database, no template.
"""

import time
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Key = tuple[str, str, bytes, str]

REFUSED = "sasweb.refused"
"""Set in the scope of a request that was refused for its IP address alone (`orders.access.limited_requests`)."""
BUSY = "sasweb.busy"
"""Set in the scope of a request that waited too long for its password to be checked (`orders.access.unavailable`)."""
REPEATED_FOR = 1.0
"""Seconds for which an answer is repeated. What it says about waiting is late by no more."""
MOST = 1_000
"""Answers that are kept, of about 3 KiB each."""


class Refusals:
    """The latest refusals of a process. Call it in the event loop."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: dict[Key, tuple[float, Sequence[Message]]] = {}

    def find(self, scope: Scope) -> Sequence[Message]:
        """The answer to repeat for a request; empty if there is none."""
        ends, messages = self._answers.get(_key(scope), (0.0, ()))
        return messages if self._clock() < ends else ()

    def note(self, scope: Scope, messages: Sequence[Message]) -> None:
        """Keeps the answer to a request if it was a refusal."""
        if not scope.get(REFUSED):
            return
        key = _key(scope)
        self._answers.pop(key, None)  # a new one goes to the end
        self._answers[key] = (self._clock() + REPEATED_FOR, messages)
        if len(self._answers) > MOST:
            del self._answers[next(iter(self._answers))]


def _key(scope: Scope) -> Key:
    host, _port = scope.get("client") or ("", 0)
    return scope["method"], scope["path"], scope["query_string"], host
