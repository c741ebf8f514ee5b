"""A batch that finds the one bad row in it (rule 11)."""

from collections.abc import Callable
from uuid import UUID

import structlog

from orders.engine.errors import LeadershipLost
from orders.engine.runtime.loop import Counts
from orders.engine.runtime.sql import DATABASE_TROUBLE

log = structlog.get_logger()

NOT_ABOUT_A_ROW = (*DATABASE_TROUBLE, LeadershipLost)
"""Errors that say nothing about a row. The loop handles them."""


class AdaptiveBatch:
    """Runs passes of up to `limit` rows; halves after an unexpected error, doubles after each success (rule 11).

    A batch of one that fails twice has found the row that causes the error, and sets it aside. So one bad row costs a
    few rolled-back passes and holds up no other.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = limit
        self._failed_alone: list[UUID] = []

    def run(
        self,
        one_pass: Callable[[int, list[UUID]], Counts],
        set_aside: Callable[[list[UUID], Exception], None],
    ) -> Counts:
        """Runs one pass. `one_pass` adds the orders that it locks to the list, so that they are known if it fails."""
        touched: list[UUID] = []
        try:
            counts = one_pass(self._size, touched)
        except NOT_ABOUT_A_ROW:
            raise
        except Exception as error:
            log.exception("pass failed", action="isolate", batch=self._size, orders=len(touched))
            if not touched:
                raise
            if self._size > 1:
                self._size //= 2
            elif self._failed_alone != touched:
                # Once may have been a collision with another instance; twice, it is the row itself.
                self._failed_alone = touched
            else:
                set_aside(touched, error)
                self._failed_alone = []
            return Counts(busy=True, done={"failed_passes": 1})
        self._failed_alone = []
        self._size = min(self._limit, self._size * 2)
        return counts
