"""A periodic job of a business: something that it does every few minutes, such as reading what a service has in stock.

A business declares its jobs as `JOBS` in its module `jobs.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PeriodicJob:
    """Calls the function `run`, which is in a module, every so many minutes, in some process that runs jobs.

    A process may be killed at any moment, and is after 170 s. Two calls may overlap. So a call does little, and doing
    it twice does no harm.
    """

    run: Callable[[], None]
    minutes: int = 1

    @property
    def path(self) -> str:
        """The function, as it is imported."""
        return f"{self.run.__module__}.{self.run.__qualname__}"
