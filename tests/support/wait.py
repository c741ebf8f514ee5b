"""Waiting for something to become true, with a bound."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(question: Callable[[], T], *, seconds: float = 180.0, what: str = "the condition") -> T:
    """Asks every 10 ms until the answer is truthy, and returns it. Fails the test after `seconds`."""
    ends = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        assert time.monotonic() < ends, (
            f"{what} did not come true within {seconds} s; last answer: {answer!r}"
        )
        time.sleep(0.01)
