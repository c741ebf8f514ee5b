"""A role whose passes a test makes fail."""

from collections.abc import Callable, Sequence
from uuid import UUID, uuid4

from django.db import InternalError

from orders.engine.runtime.isolation import Isolation, Scope
from orders.engine.runtime.loop import Counts

SLOW = InternalError("terminating connection due to transaction timeout")


class Role:
    """Orders in a queue, and an isolation that runs passes over them. A pass takes the first ones.

    It fails with its error if one of the `bad` orders is among those it has taken, or if there are more than `most`.
    """

    def __init__(self, orders: Sequence[UUID], *, bad: Sequence[UUID] = (), limit: int = 64) -> None:
        self.now = 1_000.0
        self.isolation = Isolation(limit, clock=lambda: self.now)
        self.orders = list(orders)
        self.bad = {order_id: RuntimeError("a bad row") for order_id in bad}
        self.most = 10_000
        self.seconds = 0.0
        self.taken: list[list[UUID]] = []
        self.set_aside: dict[UUID, Exception] = {}

    def one_pass(self, scope: Scope) -> Counts:
        free = [order_id for order_id in self.orders if order_id not in scope.without]
        if scope.only is not None:
            free = [order_id for order_id in self.orders if order_id in scope.only]
        taken = free[: scope.limit]
        self.taken.append(taken)
        scope.touched.extend(taken)
        self.now += self.seconds * len(taken)
        if len(taken) > self.most:
            raise SLOW
        for order_id in taken:
            if order_id in self.bad:
                raise self.bad[order_id]
        self.orders = [order_id for order_id in self.orders if order_id not in taken]
        return Counts(busy=len(taken) >= scope.limit, done={"orders": len(taken)})

    def put_aside(self, orders: list[UUID], error: Exception) -> None:
        self.set_aside |= dict.fromkeys(orders, error)
        self.orders = [order_id for order_id in self.orders if order_id not in orders]

    def run(self) -> Counts:
        return self.isolation.run(self.one_pass, self.put_aside)

    def drain(self, *, most: int = 100) -> int:
        """Runs passes while there is work; returns their number."""
        for number in range(1, most + 1):
            if not self.run().busy:
                return number
        raise AssertionError(f"still busy after {most} passes")

    def blamed_on_the_release(self) -> list[str]:
        return [cause.text for cause in self.isolation.release_failures()]


def row_ids(count: int) -> list[UUID]:
    return [uuid4() for _ in range(count)]


def raising(error: Exception) -> Callable[[Scope], Counts]:
    """A pass that fails before it has taken any order."""

    def one_pass(scope: Scope) -> Counts:
        raise error

    return one_pass


def must_not_set_aside(rows: list[UUID], error: Exception) -> None:
    raise AssertionError(f"set aside {rows} for {error!r}")
