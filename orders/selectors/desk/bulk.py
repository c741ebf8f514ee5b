"""Bulk actions: the list, and each with its waves and the result of each of its orders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, When

from orders.engine.runtime.sql import fetch
from orders.fields.money import Money
from orders.models import Alert, AlertGroup, BulkAction, BulkItem
from orders.selectors.desk.money_back import NOTHING, MoneyBack, Refund, together, total_back
from orders.vocabulary import BulkItemState, BulkKind, BulkState

SHOWN = 25

STATES = tuple(BulkItemState)


# One order's resubmission, which waits for ten seconds to be undone, keeps nobody from acting on many.
_BUSY = """
    SELECT i.order_id, i.action_id
      FROM orders_bulkaction AS a JOIN orders_bulkitem AS i ON i.action_id = a.id
     WHERE a.state IN ('running', 'paused') AND i.state IN ('waiting', 'acted') AND i.order_id = ANY(%s)
       AND NOT (a.total = 1 AND a.selection = 'order ' || i.order_id)
"""


_ON_GROUP = """
    SELECT DISTINCT i.action_id
      FROM (SELECT order_id, opened_at, closed_at FROM orders_alert
             WHERE group_id = %s AND closed_at IS NOT NULL ORDER BY closed_at DESC LIMIT %s) AS a
      JOIN orders_bulkitem AS i ON i.order_id = a.order_id
     WHERE i.acted_at BETWEEN a.opened_at AND a.closed_at + interval '1 minute'
"""
MOST_CLOSED = 500
"""The alerts of a cause, the last closed, whose orders' bulk actions are looked up."""
_OF_ONE = Q(total=1, query={}, group=None, selection__startswith="order ")
"""Resubmits one order. An action that somebody has set up has a `query`, if only with its token."""
_CAUSE = Case(
    When(
        state=BulkItemState.FAILED_AGAIN,
        then=Subquery(
            Alert.objects.filter(order_id=OuterRef("order_id"), opened_at__gt=OuterRef("acted_at"))
            .order_by("id")
            .values("group_id")[:1]
        ),
    )
)
ENDED = (BulkState.FINISHED, BulkState.STOPPED)
"""The states of an action that has acted on orders, and acts on no more."""
UNDER_WAY = (BulkState.RUNNING, BulkState.PAUSED)
"""The states of an action that has not ended."""


@dataclass(frozen=True, kw_only=True)
class Wave:
    """One wave: how many of its orders are in each state."""

    number: int
    size: int
    waiting: int
    acted: int
    done: int
    failed: int
    nothing: int
    is_present: bool
    sums: Mapping[str, MoneyBack]
    """What its orders in each state are about: what goes back if they are cancelled, or else what they are worth."""

    @property
    def well(self) -> int:
        """Orders that have ended without failing again."""
        return self.done + self.nothing

    @property
    def ended(self) -> int:
        return self.well + self.failed


class SumOfState(NamedTuple):
    """What the orders of an action in one state are about in one currency."""

    state: str
    amount: Money
    is_held: bool


@dataclass(frozen=True, kw_only=True)
class Progress:
    """An action with its waves. `begins_in` is how many seconds are left until it begins, None once it has."""

    action: BulkAction
    waves: Sequence[Wave]
    begins_in: float | None

    @property
    def ended(self) -> int:
        return sum(wave.ended for wave in self.waves)

    @property
    def well(self) -> int:
        return sum(wave.well for wave in self.waves)

    @property
    def done(self) -> int:
        return sum(wave.done for wave in self.waves)

    @property
    def failed(self) -> int:
        return sum(wave.failed for wave in self.waves)

    @property
    def nothing(self) -> int:
        return sum(wave.nothing for wave in self.waves)

    @property
    def acted(self) -> int:
        return sum(wave.acted for wave in self.waves)

    @property
    def waiting(self) -> int:
        return sum(wave.waiting for wave in self.waves)

    @property
    def sums(self) -> dict[str, MoneyBack]:
        """What its orders in each state are about in money, for the states that have any."""
        sums = {state: together(wave.sums.get(state, NOTHING) for wave in self.waves) for state in STATES}
        return {state: back for state, back in sums.items() if not back.is_nothing}

    @property
    def sums_by_state(self) -> list[SumOfState]:
        """The same, each sum alone."""
        return [
            SumOfState(state, price, is_held)
            for state, back in self.sums.items()
            for is_held, prices in ((False, back.charged), (True, back.held))
            for price in prices
        ]

    @property
    def money(self) -> MoneyBack:
        """What all its orders are about: what goes back if they are cancelled, or else what they are worth."""
        return together(self.sums.values())

    @property
    def has_ended(self) -> bool:
        """Whether it acts on no more orders."""
        return self.action.state in ENDED

    @property
    def can_be_repeated(self) -> bool:
        """Whether it has ended, and orders that it resubmitted have failed again."""
        return self.has_ended and self.action.kind == BulkKind.RESUBMIT and self.failed > 0

    @property
    def stop_percent(self) -> float:
        return round(self.action.stop_share * 100, 1)

    @property
    def is_running(self) -> bool:
        return self.action.state == BulkState.RUNNING

    @property
    def is_paused(self) -> bool:
        return self.action.state == BulkState.PAUSED

    @property
    def can_be_undone(self) -> bool:
        """Whether it can be undone: nothing has been acted on yet."""
        return (self.is_running or self.is_paused) and self.waiting == self.action.total


@dataclass(frozen=True, kw_only=True)
class ActionPage:
    """Some actions, newest first. `after` is the id that the next page starts after, None at the end."""

    actions: list[Progress]
    after: int | None


def action_page(
    *, after: int | None, now: datetime, limit: int = SHOWN, of_one: bool | None = None
) -> ActionPage:
    """A page of actions, with `of_one` those on one order that can only be undone, or if it is False the others. Two
    queries."""
    actions = BulkAction.objects.select_related("group")
    if of_one is not None:
        actions = actions.filter(_OF_ONE if of_one else ~_OF_ONE)
    if after is not None:
        actions = actions.filter(pk__lt=after)
    rows = list(actions.order_by("-id")[: limit + 1])
    waves = _waves([action.pk for action in rows[:limit]])
    return ActionPage(
        actions=[_progress(action, waves, now) for action in rows[:limit]],
        after=rows[limit - 1].pk if len(rows) > limit else None,
    )


def actions_on_group(group: AlertGroup) -> QuerySet[BulkAction]:
    """The bulk actions that were started from a cause, or that acted on orders of it while their alerts were open, the
    newest first. One query, and one more when it is read."""
    ids = [row[0] for row in fetch(_ON_GROUP, [group.pk, MOST_CLOSED])]
    acted = BulkAction.objects.filter(Q(group=group) | Q(pk__in=ids))
    return acted.exclude(_OF_ONE).order_by("-created_at")


def find_action(action_id: int, *, now: datetime) -> Progress | None:
    """One action; None if there is no such action. Two queries."""
    action = BulkAction.objects.select_related("group").filter(pk=action_id).first()
    return None if action is None else _progress(action, _waves([action_id]), now)


def actions_since(since: datetime, *, now: datetime, limit: int) -> list[Progress]:
    """The actions on several orders that are under way, or that began or ended since, the newest first. Two queries."""
    several = BulkAction.objects.exclude(_OF_ONE)
    newest = several.order_by("-created_at").values("id")[: 10 * limit]
    recent = Q(created_at__gte=since) | Q(ended_at__gte=since) | Q(state__in=UNDER_WAY)
    rows = list(
        BulkAction.objects.select_related("group")
        .filter(recent, pk__in=newest)
        .order_by("-created_at", "-id")[:limit]
    )
    waves = _waves([action.pk for action in rows])
    return [_progress(action, waves, now) for action in rows]


class Tally(NamedTuple):
    """How many orders of a wave are in a state, and what they are about in money."""

    orders: int
    refunds: tuple[Refund, ...]


def _progress(
    action: BulkAction, tallies: dict[tuple[int, int], dict[str, Tally]], now: datetime
) -> Progress:
    waves = []
    for number, size in enumerate(action.waves):
        by_state = tallies.get((action.pk, number), {})
        waves.append(
            Wave(
                number=number + 1,
                size=size,
                is_present=number == action.wave and action.state in ("running", "paused"),
                sums={state: total_back(tally.refunds) for state, tally in by_state.items()},
                **{state: by_state[state].orders if state in by_state else 0 for state in STATES},
            )
        )
    before = action.state == BulkState.RUNNING and action.starts_at > now
    return Progress(
        action=action,
        waves=waves,
        begins_in=(action.starts_at - now).total_seconds() if before else None,
    )


def _waves(action_ids: Sequence[int]) -> dict[tuple[int, int], dict[str, Tally]]:
    tallies: dict[tuple[int, int], dict[str, Tally]] = {}
    rows = fetch(
        """
        SELECT action_id, wave, state, currency, is_held, count(*), sum(amount)::bigint FROM orders_bulkitem
         WHERE action_id = ANY(%s) GROUP BY action_id, wave, state, currency, is_held
        """,
        [list(action_ids)],
    )
    for action_id, wave, state, currency, is_held, count, amount in rows:
        by_state = tallies.setdefault((action_id, wave), {})
        orders, refunds = by_state.get(state, Tally(0, ()))
        if currency:
            refunds += (Refund(price=Money(amount=amount, currency=currency), is_held=is_held),)
        by_state[state] = Tally(orders + count, refunds)
    return tallies


@dataclass(frozen=True, kw_only=True)
class ItemPage:
    """Some orders of an action. `after` is the position that the next page starts after, None at the end."""

    items: Sequence[BulkItem]
    after: int | None


def item_page(action_id: int, *, state: str, after: int | None, limit: int = 50) -> ItemPage:
    """A page of an action's orders by their position, all or those in one state. One query.

    `cause` of one that failed again is the number of the alert group that it failed into.
    """
    items = BulkItem.objects.filter(action_id=action_id).annotate(cause=_CAUSE)
    if state:
        items = items.filter(state=state)
    if after is not None:
        items = items.filter(position__gt=after)
    rows = list(items.order_by("position")[: limit + 1])
    return ItemPage(items=rows[:limit], after=rows[limit - 1].position if len(rows) > limit else None)


def results(
    action_id: int, *, most: int
) -> list[tuple[UUID, int, str, str, datetime | None, datetime | None]]:
    """Each order of an action with its wave, state, result and times, for a file. One query."""
    rows = BulkItem.objects.filter(action_id=action_id).order_by("position")
    return list(rows.values_list("order_id", "wave", "state", "result", "acted_at", "ended_at")[:most])


def busy_orders(order_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Which of these orders an action that has not ended still has, each with that action's number. One query."""
    return dict(fetch(_BUSY, [list(order_ids)]))
