"""Waits with a bound."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(question: Callable[[], T], *, seconds: float = 180.0, what: str = "the condition") -> T:
    """Asks every 10 ms until the answer is truthy, and returns it. Fails the test after `seconds`, naming `what`."""
    ends = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        assert time.monotonic() < ends, f"waited {seconds:g} s for {what}; last answer: {answer!r}"
        time.sleep(0.01)
