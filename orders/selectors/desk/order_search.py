"""The stored orders that match a filter, found by the indexes that find few, or else by looking at the newest first.

What each condition's index finds is learned once for a page, its counts and the archive behind it (docs/adr/0066).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Window
from django.db.models.expressions import RawSQL

from orders.models import OrderProcess
from orders.selectors.desk import conditions
from orders.selectors.desk.conditions import ANY_STATE, is_worked_out, standings_of, states_of
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_rows import OrderProgress
from orders.selectors.desk.query_fields import NO, YES
from orders.selectors.desk.sought import Ids, Sought, all_of_process, sought_of
from orders.selectors.paging import Position, older_than

FIRST_LOOKED_AT, MOST_LOOKED_AT = 500, 2_500
"""How many orders of each state one page looks at when no index finds few: at first, and if these do not fill it."""
MOST_FOUND = 4_000
"""The most orders that an index may find for the rest of the filter to be checked on them."""
FIRST_CHUNK = 50

_UNNESTED = "SELECT unnest(%s::uuid[])"
INDEXED = ("state", *conditions.WHEN, "archived")
"""The fields that the index of orders by age answers, without a look at each."""


@dataclass(frozen=True)
class _Found:
    """The orders that an index has found for a condition."""

    ids: Ids
    sought: Sought


@dataclass(frozen=True)
class Search:
    """A filter at a moment, with what its indexes have found."""

    order_filter: OrderFilter
    now: datetime

    @cached_property
    def is_none(self) -> bool:
        """Whether no stored order can match."""
        if self.order_filter.is_impossible or states_of(self.order_filter) == ("none",):
            return True
        return any(
            condition.values == ((NO,) if condition.negated else (YES,))
            for condition in self.order_filter.conditions("archived")
        )

    @cached_property
    def sought(self) -> list[tuple[Sought, bool]]:
        return sought_of(self.order_filter)

    @cached_property
    def _fewest(self) -> _Found | None:
        """The fewest orders that the index of a condition finds; None if each finds many. One query for each
        condition."""
        fewest: _Found | None = None
        for each, is_negated in self.sought:
            if is_negated or (ids := each.find(MOST_FOUND)) is None:
                continue
            if fewest is None or ids.number < fewest.ids.number:
                fewest = _Found(ids, each)
        return fewest

    @cached_property
    def _few(self) -> QuerySet[OrderProcess] | None:
        """The orders that match, if an index has found few among which they are."""
        if self._fewest is None:
            return None
        ids = RawSQL(_UNNESTED, [self._fewest.ids.array])
        orders = OrderProcess.objects.filter(self.span, order_id__in=ids, process_state__in=self.states)
        return self._narrowed(orders, "", but=self._fewest.sought, by_age=False)

    @cached_property
    def _number_of_few(self) -> int:
        """How many orders match among the few that an index has found. One query, or none after the first chunk."""
        return 0 if self._few is None else self._few.count()

    @cached_property
    def is_looked_at(self) -> bool:
        """Whether each order has to be looked at to see if it matches, and they may be many."""
        query = self.order_filter.parsed
        of_age = (*INDEXED, *(() if is_worked_out(self.order_filter) else ("standing",)))
        others = [condition for condition in query.conditions if condition.name not in of_age]
        return bool(others or query.text) and self._fewest is None

    @cached_property
    def states(self) -> Sequence[str]:
        return states_of(self.order_filter) or ANY_STATE

    @cached_property
    def span(self) -> Q:
        return conditions.between(conditions.placed_between(self.order_filter, self.now), "created_at")

    def of_state(self, state: str) -> QuerySet[OrderProcess]:
        """The orders of a state and of the time that is asked for."""
        return OrderProcess.objects.filter(self.span, process_state=state)

    def count(self, most: int) -> int:
        """How many orders match, up to `most` + 1."""
        if self.is_none:
            return 0
        if self._few is not None:
            return min(self._number_of_few, most + 1)
        matches = 0
        for orders in self._by_state(by_age=False) if self.is_looked_at else self._newest_by_state:
            matches += orders.order_by()[: most + 1 - matches].count()
            if matches > most:
                break
        return matches

    @cached_property
    def _newest_by_state(self) -> list[QuerySet[OrderProcess]]:
        """The orders of each state that a page reads the newest of. To put it together takes longer than to look at
        some hundred orders."""
        return self._by_state(by_age=self.is_looked_at)

    def _by_state(self, *, by_age: bool) -> list[QuerySet[OrderProcess]]:
        """The orders that match, those of each state. `by_age`: so many of the newest, and no more, are looked at."""
        return [self._narrowed(self.of_state(state), state, by_age=by_age) for state in self.states]

    def _narrowed(
        self, orders: QuerySet[OrderProcess], state: str, *, by_age: bool, but: Sought | None = None
    ) -> QuerySet[OrderProcess]:
        """Those of these orders that match; they have already been found by what is sought with `but`."""
        orders = orders.filter(*conditions.of_process(self.order_filter, state, self.now, by_age=by_age))
        orders = orders.filter(conditions.not_placed(self.order_filter, self.now, "created_at"))
        orders = orders.filter(conditions.narrowed(self.order_filter))
        others = [each for each, is_negated in self.sought if each is not but and not is_negated]
        orders = orders.filter(all_of_process(others))
        for each, is_negated in self.sought:
            if is_negated:
                orders = orders.exclude(each.of_process)
        return orders

    def read(self, behind: Position | None, size: int) -> "Chunk":
        """The newest that may match, behind a position. Two queries, or four."""
        if self.is_none:
            return Chunk([], None)
        if self._few is not None:
            return self._read_few(self._few, behind, size)
        if not self.is_looked_at:
            rows = self._newest(behind, None, size)
            return Chunk(rows, _position(rows[-1]) if len(rows) == size else None)
        rows = []
        first = min(FIRST_LOOKED_AT, MOST_LOOKED_AT) if size < FIRST_LOOKED_AT else MOST_LOOKED_AT
        for most in filter(None, (first, MOST_LOOKED_AT - first)):
            floor = self._floor(behind, most)
            rows += self._newest(behind, floor, size - len(rows))
            if len(rows) == size:
                return Chunk(rows, _position(rows[-1]))
            if floor is None:
                break
            behind = floor
        return Chunk(rows, floor)

    def _newest(self, behind: Position | None, floor: Position | None, size: int) -> list[OrderProcess]:
        """The newest behind one position, and down to another. One query."""
        of_states = []
        for orders in self._newest_by_state:
            if behind is not None:
                orders = orders.filter(older_than(behind, time="created_at", order_id="order_id"))
            if floor is not None:
                orders = orders.filter(created_at__gte=floor.at)
            of_states.append(orders.order_by("-created_at", "-order_id")[:size])
        first, *others = of_states
        # Merged by the database, which reads of each state only what is among the newest of all.
        return list(
            first.union(*others, all=True).order_by("-created_at", "-order_id")[:size] if others else first
        )

    def _read_few(self, few: QuerySet[OrderProcess], behind: Position | None, size: int) -> "Chunk":
        """The first chunk counts them as well: each of them is looked up for it."""
        if behind is not None:
            few = few.filter(older_than(behind, time="created_at", order_id="order_id"))
        counted = few.annotate(number=Window(Count("*")))
        rows = list(counted.order_by("-created_at", "-order_id")[: size + 1])
        if behind is None:
            self.__dict__["_number_of_few"] = rows[0].number if rows else 0
        return Chunk(rows[:size], _position(rows[size - 1]) if len(rows) > size else None)

    def chunks(self, size: int) -> Iterator[Sequence[OrderProcess]]:
        """All orders that may match, newest first, so many at a time, and fewer at first: someone waits for these."""
        chunk = self.read(None, min(FIRST_CHUNK, size))
        yield chunk.processes
        while chunk.behind is not None:
            chunk = self.read(chunk.behind, size)
            yield chunk.processes

    def _floor(self, behind: Position | None, most: int) -> Position | None:
        """Where a look at so many ends, None if at the end of all: behind the state whose orders fill it first. One
        query."""
        ends = []
        for state in self.states:
            orders = self.of_state(state)
            if behind is not None:
                orders = orders.filter(older_than(behind, time="created_at", order_id="order_id"))
            by_age = orders.order_by("-created_at").values("created_at")
            ends.append(by_age[most : most + 1])
        first, *others = ends
        times = [row["created_at"] for row in (first.union(*others, all=True) if others else first)]
        return Position(max(times), UUID(int=0)) if times else None

    def with_the_standing(self, orders: Sequence[OrderProgress]) -> list[OrderProgress]:
        """These orders without those that turn out to stand elsewhere."""
        if not orders or not is_worked_out(self.order_filter):
            return list(orders)
        standings = [
            (standings_of(condition), condition.negated)
            for condition in self.order_filter.conditions("standing")
        ]
        return [
            order
            for order in orders
            if all((order.standing.kind in kinds) != is_negated for kinds, is_negated in standings)
        ]


@dataclass(frozen=True)
class Chunk:
    """Some orders that may match. Others may be `behind`; None if there are none."""

    processes: Sequence[OrderProcess]
    behind: Position | None


def _position(process: OrderProcess) -> Position:
    return Position(process.created_at, process.order_id)
