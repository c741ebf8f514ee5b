"""Orders by a filter: pages by key, counts that stop, and all that match. Fast with a million orders stored.

Finished orders are reached by an index only: by state and key, by the end of an id, by a mail address. Where an order
stands is worked out from its steps, not stored; so a search for a standing looks through the orders that may stand
there, page by page, and at most `LOOKED_AT` of them at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast, Lower, Reverse

from orders.models import AgentRequest, Alert, BulkItem, Order, OrderProcess, StepState
from orders.selectors.desk.filters import NOTHING_DONE, OrderFilter
from orders.selectors.desk.listing import ListedOrder, listed, waits
from orders.selectors.desk.standing import Kind, Tries
from orders.selectors.desk.step_facts import steps_of
from orders.vocabulary import BulkItemState, BulkState, Goal, ProcessState, StepStatus

MOST_COUNTED = 10_000
MOST_LOOKED_UP = 1_000
"""Where counting stops, and where it does when each order's steps or alert have to be looked up."""
LOOKED_AT = 600
CHUNK = 200
MOST_ALIKE = 500
LEAST_BEGINNING = 8
"""Digits: all orders of weeks begin alike, those of a minute have eight digits in common."""

UNDER_WAY = (ProcessState.PENDING.value, ProcessState.PROCESSING.value)
UNFINISHED = (*UNDER_WAY, ProcessState.ERROR.value)
STATE_OF = {
    Kind.PROCESSED: (ProcessState.PROCESSED.value, Goal.COMPLETE.value),
    Kind.COMPENSATED: (ProcessState.COMPENSATED.value, Goal.COMPENSATE.value),
    Kind.ERROR: (ProcessState.ERROR.value, Goal.COMPLETE.value),
    Kind.COMPENSATION_FAILED: (ProcessState.ERROR.value, Goal.COMPENSATE.value),
}
"""The standings that a process's own row tells."""


@dataclass(frozen=True, kw_only=True)
class PendingAct:
    """What an operator asked of an order last, and what came of it; `until`: when it begins, while it can be undone."""

    action: int
    kind: str
    by: str
    said: str
    state: str
    until: datetime | None


@dataclass(frozen=True, kw_only=True)
class FoundOrder:
    """An order in the console's list. Amounts in minor units."""

    order: ListedOrder
    total: int | None
    currency: str
    email: str
    group: int | None
    act: PendingAct | None

    @property
    def order_id(self) -> UUID:
        return self.order.order_id


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some orders, newest first; `after` is the key that the next page begins behind, None at the end."""

    orders: list[FoundOrder]
    after: UUID | None


def page(wanted: OrderFilter, *, after: UUID | None, limit: int, tries: Tries, now: datetime) -> Page:
    """One page of orders. Six queries, or a few more when a standing has to be looked for."""
    found: list[ListedOrder] = []
    looked = 0
    behind = after
    while len(found) <= limit and looked < LOOKED_AT:
        size = CHUNK if _is_looked_for(wanted) else limit + 1
        chunk = _newest(wanted, behind, size, now)
        found += _standing_right(wanted, chunk, tries, now)
        looked += len(chunk)
        if len(chunk) < size:
            break
        behind = chunk[-1].order_id
        if not _is_looked_for(wanted):
            break
    else:
        if len(found) <= limit:  # there may be more further down, where nobody has looked yet
            return Page(orders=with_facts(found, now), after=behind)
    shown = found[:limit]
    return Page(orders=with_facts(shown, now), after=shown[-1].order_id if len(found) > limit else None)


def count(wanted: OrderFilter, *, now: datetime, most: int | None = None) -> int | None:
    """How many orders match, up to one more than `most`, or `most_counted`; None where only looking could tell."""
    if _is_looked_for(wanted):
        return None
    most = most_counted(wanted) if most is None else most
    found = 0
    for state in _states(wanted) or ("",):
        found += _chosen(wanted, now, state).order_by()[: most + 1 - found].count()
        if found > most:
            break
    return found


def quick_count(wanted: OrderFilter, *, now: datetime) -> int | None:
    """The same for a page of the list, where it must be quick: None also where steps or alerts would be looked up."""
    if wanted.step or wanted.agent or wanted.code:
        return None
    return count(wanted, now=now)


def most_counted(wanted: OrderFilter) -> int:
    """Where counting the orders of this filter stops."""
    is_looked_up = wanted.step or wanted.agent or wanted.waiting or wanted.code
    return MOST_LOOKED_UP if is_looked_up else MOST_COUNTED


def matching(wanted: OrderFilter, *, most: int, tries: Tries, now: datetime) -> Iterator[UUID]:
    """The ids of all orders that match, newest first, up to `most`."""
    ids = (
        process.order_id
        for chunk in _chunks(wanted, now)
        for process in _standing_right(wanted, chunk, tries, now, ids_only=True)
    )
    yield from islice(ids, most)


def rows(wanted: OrderFilter, *, most: int, tries: Tries, now: datetime) -> Iterator[FoundOrder]:
    """All orders that match with what the list tells of them, newest first, up to `most`; read piece by piece."""
    found = (
        one
        for chunk in _chunks(wanted, now)
        for one in with_facts(_standing_right(wanted, chunk, tries, now), now)
    )
    yield from islice(found, most)


def steps_and_agents() -> tuple[list[str], list[str]]:
    """The names that steps and agents of the newest orders have, for a form. One query."""
    newest = OrderProcess.objects.order_by("-order_id").values("order_id")[:50]
    named = StepState.objects.filter(process_id__in=newest).order_by("position").values_list("name", "agent")
    found = list(dict.fromkeys(named))
    return list(dict.fromkeys(name for name, _ in found)), sorted({agent for _, agent in found})


def _is_looked_for(wanted: OrderFilter) -> bool:
    return bool(wanted.kind) and wanted.kind not in STATE_OF


def _chunks(wanted: OrderFilter, now: datetime) -> Iterator[list[OrderProcess]]:
    behind: UUID | None = None
    while chunk := _newest(wanted, behind, CHUNK, now):
        yield chunk
        behind = chunk[-1].order_id


def _newest(wanted: OrderFilter, behind: UUID | None, limit: int, now: datetime) -> list[OrderProcess]:
    """The newest that may match: for each state by itself, since the index on states has their orders by age."""
    found: list[OrderProcess] = []
    for state in _states(wanted) or ("",):
        chosen = _chosen(wanted, now, state)
        if behind is not None:
            chosen = chosen.filter(order_id__lt=behind)
        found += chosen.order_by("-order_id")[:limit]
    return sorted(found, key=lambda process: process.order_id, reverse=True)[:limit]


def _states(wanted: OrderFilter) -> Sequence[str]:
    """The states that a match is in; none: it may be in any."""
    if wanted.kind in STATE_OF:
        states: Sequence[str] = (STATE_OF[Kind(wanted.kind)][0],)
    elif wanted.kind or wanted.waiting:
        states = UNDER_WAY
    elif wanted.code:
        states = (ProcessState.ERROR.value,)
    elif wanted.step or wanted.agent or (wanted.priority and not wanted.state):
        states = UNFINISHED
    else:
        states = ()
    if not wanted.state:
        return states
    return (wanted.state,) if not states or wanted.state in states else ("none",)


def _chosen(wanted: OrderFilter, now: datetime, state: str) -> QuerySet[OrderProcess]:
    """Those that match, of one state or ("") of any."""
    chosen = OrderProcess.objects.filter(process_state=state) if state else OrderProcess.objects.all()
    if wanted.problems:
        return chosen.none()
    if wanted.kind in STATE_OF:
        chosen = chosen.filter(goal=STATE_OF[Kind(wanted.kind)][1])
    if wanted.waiting == NOTHING_DONE:
        chosen = chosen.filter(waits(now))
    if wanted.step or wanted.agent or wanted.waiting not in ("", NOTHING_DONE):
        chosen = chosen.filter(Exists(_at(wanted, state)))
    if wanted.code:
        alerts = Alert.objects.filter(code=wanted.code, closed_at__isnull=True, order_id__isnull=False)
        chosen = chosen.filter(order_id__in=alerts.values("order_id"))
    if wanted.priority:
        chosen = chosen.filter(priority=int(wanted.priority))
    if (age := wanted.age) is not None:
        # An id is made before its order is inserted, so it is at least as old.
        chosen = chosen.filter(created_at__lt=now - age, order_id__lt=_first_id(now - age))
    return _narrowed(chosen, wanted.kind) if not wanted.q else _searched(chosen, wanted)


def _at(wanted: OrderFilter, state: str) -> QuerySet[StepState]:
    """The steps that an order is at: in Error those that failed, which have an index of their own."""
    steps = StepState.objects.filter(process_id=OuterRef("order_id"))
    if state == ProcessState.ERROR:
        steps = steps.filter(state=StepStatus.FAILED)
    else:
        at = Q(state__in=[StepStatus.RUNNING, StepStatus.COMPENSATING, StepStatus.FAILED]) | Q(
            state=StepStatus.NOT_STARTED, attempt__gt=0
        )
        steps = steps.filter(at | Q(waiting_since__isnull=False))
    if wanted.step:
        steps = steps.filter(name=wanted.step)
    if wanted.waiting not in ("", NOTHING_DONE):
        steps = steps.filter(agent=wanted.waiting, waiting_since__isnull=False)
    return steps.filter(agent=wanted.agent) if wanted.agent else steps


def _narrowed(chosen: QuerySet[OrderProcess], kind: str) -> QuerySet[OrderProcess]:
    """Those that may stand there: what the looking then has to look at is not much more than what it finds."""
    steps = StepState.objects.filter(process_id=OuterRef("order_id"))
    if kind == Kind.AGENT:
        asked = AgentRequest.objects.filter(order_id=OuterRef("order_id"))
        return chosen.filter(Q(Exists(steps.filter(waiting_since__isnull=False))) | Q(Exists(asked)))
    if kind == Kind.CUSTOMER:
        return chosen.filter(Exists(steps.filter(state=StepStatus.FAILED, not_before__isnull=False)))
    if kind == Kind.EXTENDED_WAIT:
        return chosen.filter(Exists(steps.filter(extended_waits__gt=0)))
    return chosen


def _searched(chosen: QuerySet[OrderProcess], wanted: OrderFilter) -> QuerySet[OrderProcess]:
    if wanted.email:
        orders = Order.objects.annotate(address=Lower("email")).filter(address=wanted.email.lower())
        return chosen.filter(order_id__in=orders.values("id"))
    return chosen.filter(order_id__in=_ids_like(wanted.digits))


def _ids_like(digits: str) -> list[UUID]:
    """The newest orders whose ids end with these digits, or begin with them: two lists, each by its own index."""
    lowest, highest = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    if lowest == highest:
        return [lowest]
    by_ending = OrderProcess.objects.annotate(
        backwards=Reverse(Cast(F("order_id"), TextField()), output_field=TextField())
    ).filter(backwards__startswith=_as_written(digits)[::-1])
    parts = [by_ending]
    if len(digits) >= LEAST_BEGINNING:
        parts.append(OrderProcess.objects.filter(order_id__range=(lowest, highest)).order_by("-order_id"))
    return [order_id for part in parts for order_id in part.values_list("order_id", flat=True)[:MOST_ALIKE]]


def _as_written(digits: str) -> str:
    """The last digits of an id with the hyphens that are between them."""
    whole = digits.rjust(32, "x")
    parts = [whole[:8], whole[8:12], whole[12:16], whole[16:20], whole[20:]]
    return "-".join(parts).lstrip("x-")


def _first_id(at: datetime) -> UUID:
    """The first id of that millisecond: ids begin with their time."""
    return UUID(int=int(at.timestamp() * 1000) << 80)


def _standing_right(
    wanted: OrderFilter,
    processes: Sequence[OrderProcess],
    tries: Tries,
    now: datetime,
    *,
    ids_only: bool = False,
) -> list[Any]:
    """These orders as they are listed, without those that stand elsewhere; the bare rows if the ids will do."""
    if ids_only and not _is_looked_for(wanted):
        return list(processes)
    ids = [process.order_id for process in processes]
    steps = steps_of(ids, now)
    found = [listed(process, steps[process.order_id], "", tries, now) for process in processes]
    return [one for one in found if not _is_looked_for(wanted) or one.standing.kind == wanted.kind]


def with_facts(found: Sequence[ListedOrder], now: datetime) -> list[FoundOrder]:
    """What else the list tells: totals, open alerts, and what operators asked for. Three queries."""
    ids = [one.order_id for one in found]
    orders = Order.objects.in_bulk(ids)
    alerts = {
        alert.order_id: alert for alert in Alert.objects.filter(order_id__in=ids, closed_at__isnull=True)
    }
    acts = acts_on(ids, now)
    told = []
    for one in found:
        placed, alert = orders.get(one.order_id), alerts.get(one.order_id)
        told.append(
            FoundOrder(
                order=ListedOrder(**{**vars(one), "code": alert.code if alert else ""}),
                total=placed.total if placed else None,
                currency=placed.currency if placed else "",
                email=placed.email if placed else "",
                group=alert.group_id if alert else None,
                act=acts.get(one.order_id),
            )
        )
    return told


def acts_on(order_ids: Sequence[UUID], now: datetime) -> dict[UUID, PendingAct]:
    """What operators asked of these orders last, with time to undo it or in bulk. One query."""
    items = (
        BulkItem.objects.filter(order_id__in=order_ids)
        .select_related("action")
        .order_by("order_id", "-id")
        .distinct("order_id")
    )
    return {
        item.order_id: PendingAct(
            action=item.action_id,
            kind=item.action.kind,
            by=item.action.by,
            said=item.said or item.get_state_display(),
            state=item.state if item.action.state != BulkState.UNDONE else BulkState.UNDONE,
            until=item.action.starts_at if _can_undo(item, now) else None,
        )
        for item in items
    }


def _can_undo(item: BulkItem, now: datetime) -> bool:
    return (
        item.state == BulkItemState.WAITING
        and item.action.state == BulkState.RUNNING
        and item.action.starts_at > now
    )
