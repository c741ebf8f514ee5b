"""Looks that become costly, such as those that meet all that was deleted while somebody holds a snapshot."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Sparing:
    """Says when such a look is due: `period` seconds after the last one, and when it has been at rest for `share` times
    as long as the last one took, whether it succeeded or not. The first is due at once."""

    def __init__(
        self,
        *,
        share: float,
        period: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._share = share
        self._period = period
        self._clock = clock
        self._next_at = self._began = clock()

    def is_due(self) -> bool:
        """Whether it is time to look."""
        return self._clock() >= self._next_at

    @contextmanager
    def look(self) -> Iterator[None]:
        """Measures one look."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """A look begins."""
        self._began = self._clock()

    def end(self) -> None:
        """The look is over, successful or not."""
        ended = self._clock()
        self._next_at = ended + max(self._period, self._share * (ended - self._began))
