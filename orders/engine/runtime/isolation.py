"""Keeps one cause of failure from spreading to other orders (rule 11).

When a pass fails, the orders that it touched are tried again in halves, until the one that fails alone is found. That
order is poison, provided that others succeed meanwhile, and it is set aside. But when different orders fail with the
same error, the cause is the release, or the database, and not the orders. Then nothing is set aside: those orders are
left alone or, if no other order succeeds either, the role stops claiming. One of them is tried now and then, and when
it succeeds, all go on by themselves.
"""

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import structlog

from orders.engine.errors import LeadershipLost
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.batch import AdaptiveBatch
from orders.engine.runtime.loop import Counts
from orders.engine.runtime.sql import is_database_trouble, ran_out_of_time
from orders.engine.runtime.text import first_line, message_pattern

log = structlog.get_logger()

ALONE = 30.0
"""Seconds for which an order that fails is kept while no other order shows that the role works. Then it is set
aside."""
ALIKE = 60.0
"""Seconds after an order was set aside in which the same error in another order means that the cause is the release."""
MOST_HELD = 200
"""Orders that are left alone at most. If more of them fail alike, the role stops claiming."""
MOST_ERRORS = 3
"""Different errors of one order alone after which they are its own, too."""
MOST_MISSES = 3
"""Trials in a row that could not lock an order, after which it is no longer left alone."""
FIRST_RETRY = 1.0
RETRY_CAP = 15.0
"""Seconds between tries of an order that is left alone: full jitter up to these ceilings."""


@dataclass
class Scope:
    """What one pass may take: up to `limit` orders, without those in `without`; or the orders in `only`.

    The pass adds the orders that it locks to `touched`, so that they are known if it fails.
    """

    limit: int
    without: frozenset[UUID] = frozenset()
    only: Sequence[UUID] | None = None
    touched: list[UUID] = field(default_factory=list)


OnePass = Callable[[Scope], Counts]
SetAside = Callable[[list[UUID], Exception], None]


@dataclass
class Cause:
    """An error that orders, or all passes, have failed with.

    `orders` are left alone for it, each with the number of trials in a row that could not lock it. `set_aside_at` is
    when `set_aside`, the last such order, was set aside. `is_shared` says that different orders have failed with the
    error, `stops` that the role claims nothing, `is_slow` that the order took too long, which sets none aside, and
    `is_fresh` that the last pass failed with it. Times are those of the process's own clock, in seconds.
    """

    error: Exception
    since: float
    orders: dict[UUID, int] = field(default_factory=dict)
    set_aside: UUID | None = None
    set_aside_at: float = 0.0
    is_shared: bool = False
    stops: bool = False
    is_slow: bool = False
    is_fresh: bool = False
    tries: int = 0
    retry_at: float = 0.0

    @property
    def code(self) -> str:
        """The name of the error's class."""
        return type(self.error).__name__

    @property
    def text(self) -> str:
        """The first line of the error, with its class."""
        return first_line(f"{self.code}: {self.error}")


class Isolation:
    """Runs the passes of one role, each over up to `limit` orders."""

    def __init__(self, limit: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._batch = AdaptiveBatch(limit)
        self._clock = clock
        self._parts: deque[list[UUID]] = deque()
        self._alone: dict[UUID, list[str]] = {}
        """The orders that have failed alone lately, with the patterns of their errors."""
        self._causes: dict[str, Cause] = {}
        self._trial: Cause | None = None
        self._others_succeed = False
        """Whether an order has succeeded since the pass that failed first, so that the role works for others."""

    @property
    def size(self) -> int:
        """How many orders the next pass takes at most."""
        return self._batch.size

    def release_failures(self) -> list[Cause]:
        """The errors that operators should know of: they stop the role, different orders have failed with them, or an
        order has taken too long for a minute."""
        now = self._clock()
        return [
            cause
            for cause in self._causes.values()
            if (cause.orders and (cause.is_shared or (cause.is_slow and now - cause.since >= ALIKE)))
            or cause.stops
        ]

    def run(self, one_pass: OnePass, set_aside: SetAside) -> Counts:
        """Runs one pass, if any is due. Raises database errors that are not about an order, and `LeadershipLost`."""
        scope = self._next_scope()
        if scope is None:
            return Counts()
        began = self._clock()
        try:
            counts = one_pass(scope)
        except LeadershipLost:
            self._parts.clear()
            raise
        except Exception as error:
            if is_database_trouble(error):
                return self._try_less(scope, error, self._clock() - began)
            log.exception("pass failed", action="isolate", **_named(scope.touched))
            counts = self._narrow_down(scope, error)
        else:
            self._note_success(scope, self._clock() - began)
        self._judge(set_aside)
        # What a failed pass has left behind comes at once, and after it, or after a trial, the next orders.
        is_apart = scope.only is not None or self._trial is not None
        is_busy = counts.busy or bool(self._parts) or is_apart or self._is_trial_due()
        return dataclasses.replace(counts, busy=is_busy and not self._is_stopped())

    def _is_stopped(self) -> bool:
        return any(cause.stops for cause in self._causes.values())

    def _is_trial_due(self) -> bool:
        now = self._clock()
        return any(cause.orders and cause.retry_at <= now for cause in self._causes.values())

    def _next_scope(self) -> Scope | None:
        self._trial = None
        for cause in self._causes.values():
            cause.is_fresh = False
        if self._parts:
            part = self._parts.popleft()
            if len(part) > self.size:  # passes have become slower since it was made
                self._parts.appendleft(part[self.size :])
            return Scope(self.size, only=part[: self.size])
        now = self._clock()
        held = frozenset(order_id for cause in self._causes.values() for order_id in cause.orders)
        for cause in self._causes.values():
            if (cause.stops or cause.orders) and cause.retry_at <= now:
                self._trial = cause
                # A role that has stopped also tries an order that has not failed: perhaps only those that have are bad.
                if cause.orders and not (cause.stops and cause.tries % 2 == 0):
                    return Scope(1, only=list(cause.orders)[:1])
                return Scope(1, held)
        if self._is_stopped():
            return None
        return Scope(self.size, held)

    def _try_less(self, scope: Scope, error: Exception, seconds: float) -> Counts:
        """Goes on with half as much after a pass that ran out of time. Raises any other error, and one order's."""
        if self._trial is not None:
            self._put_off(self._trial)
            raise error
        if not ran_out_of_time(error, seconds):
            if scope.only is not None:
                self._parts.appendleft(list(scope.only))
            raise error
        orders = list(dict.fromkeys(scope.touched or scope.only or ()))
        is_smaller = self._batch.halve()
        if len(orders) > 1:
            self._parts.extendleft(reversed(_halves(orders)))
        elif orders:
            self._leave_alone(orders[0], error, is_slow=True)
        if len(orders) < 2 and not is_smaller:
            raise error
        log.warning("database slow", action="halve", next=self.size, **_named(orders))
        return Counts(busy=True, done={"slow_passes": 1}, error=error)

    def _narrow_down(self, scope: Scope, error: Exception) -> Counts:
        """Takes the failed orders apart, or notes the error of an order that has failed alone."""
        orders = list(dict.fromkeys(scope.touched))
        if not self._parts and scope.only is None:
            self._others_succeed = False
        if self._trial is not None:
            self._trial.error, self._trial.is_fresh = error, scope.only is not None
            self._put_off(self._trial)
        elif not orders:
            self._stop(self._cause(error))
        elif len(orders) > 1:
            self._parts.extendleft(reversed(_halves(orders)))
        elif self._is_its_own(orders[0], error):
            self._leave_alone(orders[0], error)
        else:
            self._parts.appendleft(orders)
        return Counts(done={"failed_passes": 1}, error=error)

    def _is_its_own(self, order_id: UUID, error: Exception) -> bool:
        """Whether an error is the order's own: it has come twice. Once may have been a collision with another
        instance."""
        errors = self._alone.setdefault(order_id, [])
        errors.append(_pattern(error))
        return errors.count(errors[-1]) > 1 or len(errors) > MOST_ERRORS

    def _leave_alone(self, order_id: UUID, error: Exception, *, is_slow: bool = False) -> None:
        self._alone.pop(order_id, None)
        cause = self._cause(error)
        cause.orders[order_id] = 0
        cause.is_slow, cause.is_fresh = is_slow, True
        is_second = cause.set_aside not in (None, order_id) and self._was_set_aside_lately(cause)
        cause.is_shared = not is_slow and (cause.is_shared or len(cause.orders) > 1 or is_second)
        if not cause.tries:
            self._put_off(cause)
        held = [other for cause in self._causes.values() if not cause.is_slow for other in cause.orders]
        if not is_slow and ((len(held) > 1 and not self._others_succeed) or len(held) > MOST_HELD):
            self._stop(cause)

    def _cause(self, error: Exception) -> Cause:
        return self._causes.setdefault(_pattern(error), Cause(error, self._clock()))

    def _stop(self, cause: Cause) -> None:
        cause.stops = True
        self._parts.clear()
        self._alone.clear()
        self._put_off(cause)

    def _put_off(self, cause: Cause) -> None:
        cause.tries += 1
        cause.retry_at = self._clock() + full_jitter(cause.tries, first=FIRST_RETRY, cap=RETRY_CAP)

    def _note_success(self, scope: Scope, seconds: float) -> None:
        if scope.touched:
            self._others_succeed = True
        for order_id in scope.touched:
            self._alone.pop(order_id, None)
        if self._trial is None:
            if scope.only is None:
                self._batch.grow(seconds)
            return
        trial, was_held = self._trial, scope.only is not None
        if was_held and not scope.touched:
            self._note_miss(trial)
        elif was_held or not trial.orders:
            log.info("works again", action="resume", error=trial.text, **_named(scope.touched))
            self._causes = {name: cause for name, cause in self._causes.items() if cause is not trial}
        elif scope.touched:  # another order succeeds, so those that have failed are tried next
            trial.stops, trial.retry_at = False, self._clock()
        else:
            self._put_off(trial)

    def _note_miss(self, trial: Cause) -> None:
        """Puts a trial off whose order could not be locked: another process has it in hand, or has finished it."""
        order_id, misses = next(iter(trial.orders.items()))
        del trial.orders[order_id]
        if misses + 1 < MOST_MISSES:
            trial.orders[order_id] = misses + 1
        self._put_off(trial)

    def _judge(self, set_aside: SetAside) -> None:
        """Sets aside the orders that fail alone, each with an error of its own.

        Only what has failed in this very pass is set aside: another process may have gone on with it since.
        """
        if self._parts:
            return
        for pattern, cause in list(self._causes.items()):
            if cause.stops:
                continue
            if not cause.orders:
                if not self._was_set_aside_lately(cause):
                    del self._causes[pattern]
            elif cause.is_slow or cause.is_shared:
                continue
            elif self._others_succeed or self._clock() - cause.since >= ALONE:
                if cause.is_fresh:
                    self._put_aside(cause, set_aside)
                else:
                    cause.retry_at = self._clock()

    def _was_set_aside_lately(self, cause: Cause) -> bool:
        return cause.set_aside is not None and self._clock() - cause.set_aside_at < ALIKE

    def _put_aside(self, cause: Cause, set_aside: SetAside) -> None:
        try:
            set_aside(list(cause.orders), cause.error)
        except LeadershipLost:
            raise
        except Exception as error:
            if is_database_trouble(error):
                raise
            # What cannot even be set aside shows that the release is broken.
            log.exception("not set aside", action="isolate", **_named(cause.orders))
            cause.error = error
            self._stop(cause)
            return
        cause.set_aside, cause.set_aside_at = next(iter(cause.orders)), self._clock()
        cause.orders.clear()


def _named(orders: Collection[UUID]) -> dict[str, Any]:
    """What a log line says of these orders: how many there are, and which one if it is about a single one."""
    distinct = set(orders)
    order_id = {"order_id": str(*distinct)} if len(distinct) == 1 else {}
    return {"orders": len(distinct), **order_id}


def _pattern(error: Exception) -> str:
    return message_pattern(f"{type(error).__name__}: {error}")


def _halves(orders: Sequence[UUID]) -> list[list[UUID]]:
    middle = (len(orders) + 1) // 2
    return [list(half) for half in (orders[:middle], orders[middle:]) if half]
