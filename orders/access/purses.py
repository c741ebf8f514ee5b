"""Counts what happens too often for a statement each, such as reads of the API.

A process takes a handful of tokens from a subject's bucket at once (`orders.access.limits`), and spends them without
the database. Whatever is spent was taken before. What a process holds and does not spend is missing elsewhere, and once
the bucket is full again it comes on top: a hundredth of the bucket at most for each process.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings

from orders.access.limits import Count, LimitedError, Subject, ask, count_of, tokens_of
from sasweb.limits import Limit

HANDFULS = 100
"""A handful is this part of a bucket, but at least one token."""
FILLED_EVERY = 5.0
"""Seconds after which a purse is filled up although it is not empty, so that it hears what others take."""
MOST = 10_000
"""Purses that a process keeps. The tokens in one that has to go are lost."""


@dataclass
class Purse:
    """What a process holds of one subject's tokens, and what it knows of the bucket. Times are those of its clock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    tokens: int = 0
    filled_at: float = float("-inf")
    full_at: float = float("-inf")
    empty_until: float = float("-inf")


class Purses:
    """The purses of a process. Threads may share them."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._purses: dict[Subject, Purse] = {}

    def spend(self, subject: Subject) -> Count | None:
        """Counts one act of this subject; None if its limit is switched off.

        Call it outside of transactions. Raises `LimitedError` if the subject has done it too often. From then on it is
        refused without asking the database, for as long as it was told to wait.
        """
        limit = settings.CONFIG.limits.get(subject[0])
        if limit is None:
            return None
        purse = self._purse(subject)
        with purse.lock:  # so that one thread fills the purse, and the others spend what is in it
            now = self._clock()
            if now >= purse.empty_until and (not purse.tokens or now >= purse.filled_at + FILLED_EVERY):
                self._fill(purse, subject, limit)
                now = self._clock()
            if not purse.tokens:
                wait = max(1, math.ceil(purse.empty_until - now))
                raise LimitedError([Count(subject[0], limit, 0, wait, is_refused=True)])
            purse.tokens -= 1
            return count_of(subject[0], limit, purse.full_at - now, held=purse.tokens)

    def forget(self) -> None:
        """Empties all purses. What was in them is lost."""
        with self._lock:
            self._purses.clear()

    def _purse(self, subject: Subject) -> Purse:
        with self._lock:
            purse = self._purses.pop(subject, None) or Purse()
            self._purses[subject] = purse  # the last one used goes to the end
            if len(self._purses) > MOST:
                del self._purses[next(iter(self._purses))]
            return purse

    def _fill(self, purse: Purse, subject: Subject, limit: Limit) -> None:
        """Takes what is missing, or what there is if that is less."""
        missing = max(1, limit.most // HANDFULS) - purse.tokens
        is_taken, full_in = ask({subject: missing})[subject]
        if not is_taken and (rest := min(missing, tokens_of(limit, full_in))) >= 1:
            missing = rest
            is_taken, full_in = ask({subject: missing})[subject]
        purse.filled_at = self._clock()
        purse.full_at = purse.filled_at + full_in
        if is_taken:
            purse.tokens += missing
        elif not purse.tokens:
            refused = count_of(subject[0], limit, full_in, is_refused=True)
            purse.empty_until = purse.filled_at + refused.wait


PURSES = Purses()
"""This process's."""
