"""What operators have paused, beside agents: the intake of new orders, steps of workflows, and single orders."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from orders.business.intake_pause import read_pause
from orders.business.registry import workflows
from orders.engine.branches import declared_name
from orders.engine.runtime.sql import fetch
from orders.models import IntakePause, OrderProcess, StepPause, StepState
from orders.selectors.desk.bounds import MOST_COUNTED, bounded_count
from orders.selectors.desk.last_acts import LastAct, last_acts

SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class PausedOrder:
    """An order that somebody has paused, `until` a time or until somebody resumes it."""

    order_id: UUID
    at: datetime
    until: datetime | None
    by: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class PausedStep:
    """A step that is paused in all orders of its workflow, and how many of them wait because of that, counted as in
    `count_held`."""

    workflow: str
    step: str
    at: datetime
    until: datetime | None
    by: str
    reason: str
    orders: int


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """The pause of the intake; the paused steps; how many orders are paused by themselves, counted up to
    `MOST_COUNTED` + 1; and the `SHOWN` of these that were paused first."""

    intake: IntakePause | None
    steps: Sequence[PausedStep]
    orders: int
    first_orders: Sequence[PausedOrder] = ()

    @property
    def waiting(self) -> int:
        """How many orders wait because they, or their steps, are paused."""
        return self.orders + sum(step.orders for step in self.steps)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is paused."""
        return self.intake is None and not self.orders and not self.steps


def read_pauses(*, now: datetime) -> Pauses:
    """What is paused now. Six statements."""
    return Pauses(
        intake=read_pause(),
        steps=paused_steps(now=now),
        orders=count_paused_orders(now=now),
        first_orders=_first_orders(now),
    )


def paused_steps(*, now: datetime) -> list[PausedStep]:
    """The steps that are paused now, by workflow and name. Two statements."""
    rows = list(StepPause.objects.exclude(until__lte=now).order_by("workflow", "step"))
    counts = count_held() if rows else {}
    return [
        PausedStep(
            workflow=row.workflow,
            step=row.step,
            at=row.at,
            until=row.until,
            by=row.by,
            reason=row.reason,
            orders=counts.get((row.workflow, row.step), 0),
        )
        for row in rows
    ]


def count_held() -> Mapping[tuple[str, str], int]:
    """How many orders wait at each paused step, among the first `MOST_COUNTED` + 1 waits. One statement."""
    rows = fetch(
        """
        SELECT p.workflow, s.step, count(DISTINCT p.order_id)
          FROM (SELECT order_id, split_part(name, ':', 1) AS step FROM orders_stepstate
                 WHERE paused_since IS NOT NULL ORDER BY paused_since LIMIT %s) AS s
          JOIN orders_orderprocess AS p
            ON p.order_id = s.order_id AND p.process_state IN ('pending', 'processing')
         GROUP BY 1, 2
        """,
        [MOST_COUNTED + 1],
    )
    return {(workflow, step): count for workflow, step, count in rows}


def step_exists(workflow: str, step: str) -> bool:
    """Whether a workflow of this release has this step. No statement."""
    return any(each.name == workflow and step in each.by_name for each in workflows().values())


def steps_of_workflow(workflow: str) -> list[str]:
    """The names of the steps that a workflow of this release has, in any version. No statement."""
    versions = (each for each in workflows().values() if each.name == workflow)
    return list(dict.fromkeys(step for each in versions for step in each.by_name))


def is_step_paused(workflow: str, step: str, *, now: datetime) -> bool:
    """Whether a step is paused in all orders of its workflow. One statement."""
    return StepPause.objects.filter(workflow=workflow, step=step).exclude(until__lte=now).exists()


def steps_to_pause() -> list[tuple[str, str, str]]:
    """The steps that can be paused, each with its workflow and its agent: those that call one. No statement."""
    steps = {
        (workflow.name, step.name): step.agent
        for workflow in workflows().values()
        for step in workflow.steps
        if step.waits_for is None
    }
    return [(workflow, step, agent) for (workflow, step), agent in steps.items()]


def place_to_pause(workflow: str, step: str) -> tuple[str, str] | None:
    """The workflow and the declared name of an order's step, if that can be paused in all orders. No statement."""
    place = (workflow, declared_name(step))
    return place if place in {(name, each) for name, each, _ in steps_to_pause()} else None


def count_paused_orders(*, now: datetime) -> int:
    """How many orders are paused, counted up to `MOST_COUNTED` + 1. One statement."""
    return bounded_count(OrderProcess.objects.filter(paused_by_itself(now)))


def paused_by_itself(now: datetime) -> Q:
    """Processes that somebody has paused, and whose pause has not ended: in the database, what
    `orders.engine.rows.is_paused` says of one."""
    return Q(paused_at__isnull=False) & (Q(paused_until__isnull=True) | Q(paused_until__gt=now))


def _first_orders(now: datetime) -> list[PausedOrder]:
    """Those that were paused first. The audit log knows who did it, and why."""
    paused = OrderProcess.objects.filter(paused_by_itself(now))
    rows = list(paused.order_by("paused_at").values_list("pk", "paused_at", "paused_until")[:SHOWN])
    last = last_acts((f"order {order_id}", "pause") for order_id, _, _ in rows)
    orders = []
    for order_id, at, until in rows:
        by, reason = last.get((f"order {order_id}", "pause"), LastAct())
        assert at is not None
        orders.append(PausedOrder(order_id=order_id, at=at, until=until, by=by, reason=reason))
    return orders


def held_by_paused_steps(agents: Collection[str]) -> set[str]:
    """Those of some agents for which orders would wait, if a pause of their step did not hold them. One query, if there
    are any agents."""
    if not agents:
        return set()
    steps = StepState.objects.filter(paused_since__isnull=False, agent__in=list(agents))
    return set(steps.values_list("agent", flat=True).distinct())
