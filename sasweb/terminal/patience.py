"""How long, and how often, something is tried again that has no answer."""

import random
import time
from collections.abc import Callable

from sasweb.terminal.errors import NoAnswerError

FIRST_WAIT, LONGEST_WAIT = 0.5, 10.0
"""In seconds: the longest wait after the first failure, which doubles with each, and the longest after any."""


class LostError(Exception):
    """Raised when there is no answer, or one that says to try again, after `wait` seconds at least. With `is_untouched`
    that answer says that the server has done nothing; otherwise it may have."""

    def __init__(self, reason: str, *, wait: float = 0.0, is_untouched: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.is_untouched = is_untouched


class Patience:
    """Tries again for so many seconds after the first failure. A success makes it as it was."""

    def __init__(self, seconds: float, *, say: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._say = say
        self._ends = 0.0
        self.failures = 0

    def rest(self, error: LostError) -> None:
        """Waits before the next try. Raises `NoAnswerError` if that would be too late."""
        now = time.monotonic()
        if not self.failures:
            self._ends = now + self._seconds
        wait = max(error.wait, random.uniform(0.5, 1) * min(LONGEST_WAIT, FIRST_WAIT * 2**self.failures))
        self.failures += 1
        if now + wait > self._ends:
            raise NoAnswerError(
                f"{error}. Tried {self.failures} times; --patience {self._seconds:g} allows no more."
                if self.failures > 1
                else f"{error}. The next try would be in {wait:.0f} s, and --patience is {self._seconds:g}."
            ) from error
        self._say(f"{error}; trying again in {wait:.1f} s")
        time.sleep(wait)

    def renew(self) -> None:
        """There was an answer."""
        self.failures = 0
