"""A batch that finds the one bad row in it."""

from collections.abc import Callable
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError

from orders.engine.errors import LeadershipLost
from orders.engine.worker import Counts

log = structlog.get_logger()

ABOUT_THE_DATABASE = (OperationalError, InterfaceError, LeadershipLost)
"""Errors that say nothing about a row: the connection, a lock, a time-out, a lost lease. The loop handles them."""


class AdaptiveBatch:
    """Runs passes of up to `limit` rows; halves after an unexpected error, doubles after each success (rule 11).

    A batch of one that fails has found the row that causes the error, and it is set aside. So one bad row costs a few
    rolled-back passes and holds up nobody.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = limit
        self._failures_alone = 0

    def run(
        self,
        one_pass: Callable[[int, list[UUID]], Counts],
        set_aside: Callable[[list[UUID], Exception], None],
    ) -> Counts:
        """Runs one pass. `one_pass` notes in the list which orders it has taken in hand, in case it fails."""
        touched: list[UUID] = []
        try:
            counts = one_pass(self._size, touched)
        except ABOUT_THE_DATABASE:
            raise
        except Exception as error:
            log.exception("pass failed", action="isolate", batch=self._size, orders=len(touched))
            if not touched:
                raise
            if self._size > 1:
                self._size //= 2
                self._failures_alone = 0
            elif self._failures_alone == 0:
                # Once may be a collision with another instance; twice is the row itself.
                self._failures_alone = 1
            else:
                set_aside(touched, error)
                self._failures_alone = 0
            return Counts(busy=True, done={"failed_passes": 1})
        self._failures_alone = 0
        self._size = min(self._limit, self._size * 2)
        return counts
