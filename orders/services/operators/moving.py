"""Moves the unfinished orders of one version of a workflow to a later one, as the business declares it.

Orders move in short transactions of `CHUNK` each, locked as for every act, so moving can be interrupted and repeated.
What is under way is left for another time. No order moves without an event in its history.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from orders.business import registry
from orders.engine import state_store
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.errors import SaswebError
from orders.engine.moving import Changes, Journey, Obstacle, Transfer, plan_move
from orders.engine.rows import EventRow, StepRow
from orders.engine.state_store import definitions, moves
from orders.engine.state_store.moves import Candidate, MovedOrder
from orders.models import Order
from orders.services import audit
from orders.services.audit import Actor
from orders.services.order_lock import operator
from orders.vocabulary import EventKind

CHUNK = 100
"""How many orders one transaction moves."""
LOCKED = Obstacle("another process is working on it at this moment", passes=True)
OTHER_DEFINITION = Obstacle("it started with another definition of this version")
WITHOUT_DATA = Obstacle("it has no data")


class CannotMoveError(SaswebError):
    """Raised when no order can be moved between two versions, with a sentence that says why."""


@dataclass(kw_only=True)
class Hindrance:
    """Orders that cannot move for the same reason: how many, and one of them. It `passes` if they may move later."""

    reason: str
    passes: bool
    example: UUID
    number: int = 0


@dataclass(kw_only=True)
class Report:
    """What moving does or has done: to the steps of any order, to how many orders, and what keeps the others."""

    changes: Changes
    movable: int = 0
    by_obstacle: dict[Obstacle, Hindrance] = field(default_factory=dict)

    @property
    def hindrances(self) -> list[Hindrance]:
        """What keeps orders from moving, the most frequent first."""
        return sorted(self.by_obstacle.values(), key=lambda hindrance: -hindrance.number)

    def add(self, order_id: UUID, obstacle: Obstacle) -> None:
        """Counts an order that cannot move."""
        new = Hindrance(reason=obstacle.reason, passes=obstacle.passes, example=order_id)
        self.by_obstacle.setdefault(obstacle, new).number += 1


def preview(*, name: str, from_version: int, to_version: int) -> Report:
    """Says what `move_orders` would do now, and changes nothing. Raises `CannotMoveError`."""
    journey = _journey(name, from_version, to_version)
    report = Report(changes=journey.changes)
    for order_ids in _chunks(journey):
        report.movable += len(_plan(moves.read_candidates(order_ids, journey.old), journey, report))
    return report


def move_orders(*, name: str, from_version: int, to_version: int, actor: Actor, reason: str = "") -> Report:
    """Moves every order that can be moved now. Raises `CannotMoveError`.

    An order in Error moves, too, and stays in Error until it is resubmitted.
    """
    journey = _journey(name, from_version, to_version)
    report = Report(changes=journey.changes)
    with transaction.atomic():
        definitions.record_definitions({(name, to_version): journey.new})
    for order_ids in _chunks(journey):
        with transaction.atomic():
            candidates = moves.lock_candidates(order_ids, journey.old)
            orders = _plan(candidates, journey, report)
            if orders:
                _write(orders, journey, actor=actor, reason=reason)
            free = {candidate.row.order_id for candidate in candidates}
            for candidate in moves.read_candidates([i for i in order_ids if i not in free], journey.old):
                report.add(candidate.row.order_id, LOCKED)
        report.movable += len(orders)
    if not report.movable:
        _record(journey, 0, actor=actor, reason=reason)
    return report


def _journey(name: str, from_version: int, to_version: int) -> Journey:
    if registry.find_kind(name) is None:
        raise CannotMoveError(f"this release has no workflow {name!r}")
    journey = registry.find_journey(name, from_version, to_version)
    if journey is None:
        raise CannotMoveError(
            f"{name} declares no move from version {from_version} to {to_version}: add it to the moves of its kind"
        )
    if definitions.other_definitions({(name, to_version): journey.new}):
        raise CannotMoveError(
            f"{name} version {to_version} is not what the orders on it started with, so this release does not run it"
        )
    return journey


def _chunks(journey: Journey) -> Iterator[list[UUID]]:
    order_ids = moves.orders_on(journey.old)
    for start in range(0, len(order_ids), CHUNK):
        yield order_ids[start : start + CHUNK]


def _plan(candidates: Sequence[Candidate], journey: Journey, report: Report) -> list[MovedOrder]:
    """Those of these orders that can move, with what changes. Counts the others in the report. Two queries."""
    order_ids = [candidate.row.order_id for candidate in candidates]
    steps = state_store.steps_of(order_ids)
    data = dict(Order.objects.filter(pk__in=order_ids).values_list("pk", "data"))
    orders = []
    for candidate in candidates:
        row = candidate.row
        plan = _plan_one(candidate, steps[row.order_id], data.get(row.order_id), journey)
        if isinstance(plan, Obstacle):
            report.add(row.order_id, plan)
        else:
            orders.append(MovedOrder(row, plan))
    return orders


def _plan_one(
    candidate: Candidate, steps: Sequence[StepRow], data: Mapping[str, Any] | None, journey: Journey
) -> Transfer | Obstacle:
    if candidate.fingerprint not in (journey.old.fingerprint, ""):
        return OTHER_DEFINITION
    if data is None:
        return WITHOUT_DATA
    return plan_move(candidate.row, steps, data, journey)


def _write(orders: Sequence[MovedOrder], journey: Journey, *, actor: Actor, reason: str) -> None:
    moves.write_moves(orders, journey.new)
    changes = journey.changes
    detail = {
        "before": journey.old.version,
        "after": journey.new.version,
        "renamed": dict(changes.renamed),
        "dropped": changes.dropped,
        "added": changes.added,
        **({"reason": reason} if reason else {}),
    }
    by = operator(actor.name)
    state_store.record_events(
        EventRow(order.row.order_id, EventKind.VERSION_CHANGED, by, detail=detail) for order in orders
    )
    _record(journey, len(orders), actor=actor, reason=reason)
    wake(Topic.SCHEDULER, Topic.PROGRESS)


def _record(journey: Journey, number: int, *, actor: Actor, reason: str) -> None:
    noun = "order" if number == 1 else "orders"
    audit.record(
        actor=actor,
        act="move orders",
        target=f"workflow {journey.old.name}",
        result=f"Moved {number} {noun} from version {journey.old.version} to {journey.new.version}.",
        reason=reason,
        before={"version": journey.old.version},
        after={"version": journey.new.version},
    )
