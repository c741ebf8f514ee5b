"""The scheduler: claims orders, takes replies, starts the steps that are ready, finishes (C1–C10).

A pass is one transaction that reads, decides and writes (rule 1), for up to a few hundred orders with a fixed number of
statements (rule 2). A scheduler holds nothing between passes: killed at any point it loses nothing, and another one
takes the next reply. `progress` and `compensation` decide; this module carries out what they decide.
"""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import structlog
from django.db import transaction

from orders.engine import alerts, state_store
from orders.engine.admission import Admission
from orders.engine.channels import replies, requests, status
from orders.engine.channels.low_water import LowWater
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.circuits.credit import Credit, charge_credit, grant_credit
from orders.engine.circuits.retry_budget import available_retries, charge_retries, reserve_retries
from orders.engine.circuits.rules import BreakerRules
from orders.engine.circuits.store import Viewpoint
from orders.engine.contracts import Workflows
from orders.engine.role_health import RoleHealth, Trouble, release_troubles
from orders.engine.rows import Actor, EventRow, ProcessRow, ReplyRow
from orders.engine.runtime.batch import AdaptiveBatch
from orders.engine.runtime.isolation import Isolation, Scope
from orders.engine.runtime.loop import Counts
from orders.engine.runtime.sql import database_now, ran_out_of_time
from orders.engine.scheduler.order_claims import OrderClaims
from orders.engine.scheduler.order_pass import OrderPass
from orders.engine.scheduler.progress import ENDED
from orders.vocabulary import ActorKind, EventKind, ProcessState, StatusKind

log = structlog.get_logger()
TIDY_SECONDS = 1.0
TIDY_PASSES = 10
"""Tidying is not urgent. It is due after `TIDY_SECONDS`, once a pass has no replies to take. A scheduler that is
always busy tidies every `TIDY_PASSES` passes, which costs a tenth of them at most."""


@dataclass(frozen=True, kw_only=True)
class SchedulerConfig:
    """`instance` is this scheduler's id, as shown in LockedBy (T2). `retries` is the global budget, a second (I8).

    `batch` is the most orders in one pass: enough for many orders to share a commit, few enough for a pass to end well
    within the 5 s that a transaction may last.
    """

    instance: str
    batch: int = 200
    retries: float = 100.0
    breaker: BreakerRules = field(default_factory=BreakerRules)


class Workload(NamedTuple):
    """The orders of a pass, which of them were claimed by age, and how many replies were taken.

    `is_held_up` says that replies wait for an order that somebody else has locked; `is_full`, that there may be more
    orders than the batch holds.
    """

    orders: list[OrderPass]
    replies: int
    is_held_up: bool
    is_full: bool
    by_age: frozenset[UUID] = frozenset()


class Scheduler:
    """One instance; any number of them run side by side (C3)."""

    def __init__(self, *, config: SchedulerConfig, workflows: Workflows) -> None:
        self._config = config
        self._admission = Admission(workflows)
        self._agents = sorted({step.agent for workflow in workflows.values() for step in workflow.steps})
        self._isolation = Isolation(config.batch)
        self._tidying = AdaptiveBatch(config.batch)
        self.health = RoleHealth(
            role=ActorKind.SCHEDULER,
            instance=config.instance,
            troubles=self.troubles,
            workflows=self.workflows,
        )
        self._requests = LowWater("orders_agentrequest")
        self._replies = LowWater("orders_agentreply")
        self._claims = OrderClaims()
        self._passes = 0
        self._tidied_at = 0.0

    def run_once(self) -> Counts:
        """Makes one pass.

        After an unexpected error it finds the order that causes it, which is put into Error with an alert, unless it is
        the release that causes it (rule 11). A database that cannot be reached is left to the caller.
        """
        counts = self._isolation.run(self._pass, self._set_aside)
        self._passes += 1
        is_due = time.monotonic() - self._tidied_at > TIDY_SECONDS
        if (is_due and not counts.done.get("replies")) or self._passes % TIDY_PASSES == 0:
            self._tidied_at = time.monotonic()
            return replace(counts, busy=self._tidy_up() or counts.busy)
        return counts

    def troubles(self) -> list[Trouble]:
        """What is wrong with this scheduler or its release, for operators."""
        causes = self._isolation.release_failures()
        return [*self._admission.troubles, *release_troubles(ActorKind.SCHEDULER, causes)]

    def workflows(self) -> Workflows:
        """The workflows that this scheduler runs."""
        return self._admission.workflows

    def _pass(self, scope: Scope) -> Counts:
        self._admission.check()
        with transaction.atomic():
            now = database_now()
            self._requests.refresh()
            self._replies.refresh()
            viewpoint = Viewpoint(self._config.instance, self._requests.start)
            credit = grant_credit(self._agents, viewpoint=viewpoint, rules=self._config.breaker, now=now)
            workload = self._gather(scope, now, credit)
            orders = workload.orders
            for order in orders:
                order.turn(now)
            recalled = self._recall(orders)
            retries_ready = Counter(agent for order in orders for agent in order.retries_ready())
            retries = sum(min(number, credit.rooms.get(agent, 0)) for agent, number in retries_ready.items())
            credit.retries = reserved = reserve_retries(retries, rate=self._config.retries)
            for order in sorted(orders, key=lambda order: order.urgency(workload.by_age)):
                order.advance(now, credit.take)
            self._write(orders, credit)
            charge_credit(credit, rules=self._config.breaker, now=now)
            charge_retries(reserved - credit.retries, rate=self._config.retries)
        self._claims.confirm()
        changed = sum(order.row_changed() for order in orders)
        return Counts(
            busy=workload.replies > 0 or workload.is_held_up or (workload.is_full and changed > 0),
            done={
                "orders": len(orders),
                "replies": workload.replies,
                "started": sum(len(order.new_requests) for order in orders),
                "recalled": recalled,
            },
        )

    def _gather(self, scope: Scope, now: datetime, credit: Credit) -> Workload:
        """Locks the orders of this pass.

        First come those with replies, then those whose steps wait for an agent that has room, then probes. What is
        left of the batch goes to orders that need a scheduler.
        """
        if scope.only is not None:
            return self._gather_only(scope, now, credit)
        limit = scope.limit
        waiting, rows = self._answered(scope)
        locked = {row.order_id for row in rows}
        taken_replies = replies.take([reply_id for reply_id, order_id in waiting if order_id in locked])
        # After an outage thousands of orders come back at once. The more replies there are, the fewer of them are let
        # in: each step of a new order waits behind the replies to all that is under way. But a stream of replies
        # cannot keep them out altogether, and they leave part of the batch to new orders.
        most = max(max(limit // 4, 1) - len(rows), limit // 16)
        without = locked | scope.without
        rooms = credit.for_waiting()
        retries = available_retries(rate=self._config.retries) if rooms else 0
        waited, by_age = self._claims.claim_waiting(
            rooms, self.workflows(), now, without=without, limit=most, retries=retries
        )
        rows += waited
        without |= {row.order_id for row in waited}
        free = max(limit - len(rows), limit // 4)
        probes = state_store.claim_probes(credit.for_probes()[:free], self.workflows(), without)
        rows += probes
        locked = {row.order_id for row in rows}
        if len(rows) < limit:
            claim = self._claims.claim_ready(limit - len(rows), self.workflows(), now, without=scope.without)
            rows += [row for row in claim.rows if row.order_id not in locked]
            by_age |= claim.by_age
        scope.touched.extend(row.order_id for row in rows)
        held = {order_id for _, order_id in waiting} - locked - scope.without
        is_held_up = bool(held) and state_store.any_supported(held, self.workflows())
        return Workload(
            orders=self._load(rows, taken_replies, now, credit),
            replies=len(taken_replies),
            is_held_up=is_held_up,
            is_full=len(rows) >= limit or len(waited) >= max(most, 1),
            by_age=frozenset(by_age),
        )

    def _gather_only(self, scope: Scope, now: datetime, credit: Credit) -> Workload:
        """Locks the orders that a failed pass had touched, for a pass of their own."""
        rows = state_store.lock(scope.only or (), self.workflows())
        scope.touched.extend(row.order_id for row in rows)
        taken_replies = replies.take_all_of(scope.touched)
        return Workload(
            orders=self._load(rows, taken_replies, now, credit),
            replies=len(taken_replies),
            is_held_up=False,
            is_full=False,
        )

    def _answered(self, scope: Scope) -> tuple[list[tuple[int, UUID]], list[ProcessRow]]:
        """The next replies, and their orders, locked: as many as the pass takes, out of a page of the largest batch.

        If none of the orders of a page of replies can be locked (somebody else has them, they are left alone, or this
        release does not have their workflow), the next page is read, so that those replies do not hold up the others.
        """
        start = self._replies.start
        while True:
            waiting = replies.peek(self._config.batch, start=start)
            order_ids = {order_id for _, order_id in waiting} - scope.without
            rows = state_store.lock(order_ids, self.workflows(), limit=scope.limit)
            if rows or len(waiting) < self._config.batch:
                return waiting, rows
            start = waiting[-1][0] + 1

    def _load(
        self, rows: list[ProcessRow], taken_replies: list[ReplyRow], now: datetime, credit: Credit
    ) -> list[OrderPass]:
        steps = state_store.steps_of(row.order_id for row in rows)
        orders = {
            row.order_id: OrderPass(
                row=row,
                steps=steps[row.order_id],
                workflow=self.workflows()[row.workflow, row.version],
                instance=self._config.instance,
            )
            for row in rows
        }
        for reply in taken_replies:
            orders[reply.order_id].take(reply, now, credit.succeeded_at)
        return list(orders.values())

    def _recall(self, orders: Iterable[OrderPass]) -> int:
        """Deletes the requests that no agent has begun, for orders that are being compensated (rule 8)."""
        running = {step.id: order for order in orders for step in order.recallable()}
        recalled = requests.recall(list(running))
        for step_id in recalled:
            running[step_id].recalled(step_id)
        return len(recalled)

    def _write(self, orders: list[OrderPass], credit: Credit) -> None:
        state_store.write_steps([write for order in orders for write in order.step_writes()])
        rows = [order.row for order in orders if order.row_changed()]
        state_store.write_processes(rows)
        new_requests = [new for order in orders for new in order.new_requests]
        requests.discard([step_id for order in orders for step_id in order.superseded])
        requests.post(new_requests, by=self._config.instance)
        alerts.open_alerts([alert for order in orders for alert in order.alerts])
        status.post(message for order in orders for message in order.statuses)
        events = [event for order in orders for event in order.events]
        state_store.record_events(events)
        # Other schedulers may have looked before these orders waited, and have room for them.
        new_waits = any(event.kind == EventKind.WAITING_FOR_AGENT for event in events)
        topics = {
            Topic.AGENTS: new_requests,
            Topic.PROGRESS: rows or events,
            Topic.SCHEDULER: new_waits and credit.is_left_to_others,
        }
        wake(*(topic for topic, is_due in topics.items() if is_due))

    def _tidy_up(self) -> bool:
        """Does what is not urgent; returns whether there are new replies. An error is logged, and costs no pass."""
        began = time.monotonic()
        try:
            has_replies = self._tidy(self._tidying.size)
        except Exception as error:
            log.exception("not tidied", action="tidy")
            if ran_out_of_time(error, time.monotonic() - began):
                self._tidying.halve()
            return False
        self._tidying.grow(time.monotonic() - began)
        return has_replies

    def _tidy(self, limit: int) -> bool:
        """Hands back requests that no agent host has claimed, posts status messages for the supervisor, and deletes
        replies to orders that are gone.

        The supervisor never touches a channel (V5), so a scheduler reports the orders that it has put into Error.
        """
        with transaction.atomic():
            handed_back = requests.hand_back_unclaimed(
                limit, by=self._config.instance, start=self._requests.start
            )
            replies.delete_orphans(start=self._replies.start)
            rows = state_store.unannounced(limit, self.workflows())
            state_store.write_processes([row._replace(announced=True) for row in rows])
            status.post(status.Status(row.reply_to, row.order_id, StatusKind.FAILED) for row in rows)
        return handed_back > 0

    def _set_aside(self, order_ids: list[UUID], error: Exception) -> None:
        """Puts the order that no pass can handle into Error, and keeps its unread replies in its history."""
        with transaction.atomic():
            for row in state_store.lock(order_ids, self.workflows()):
                if row.process_state in ENDED:  # another scheduler was quicker
                    continue
                unread = replies.take_all_of([row.order_id])
                state_store.stop_waiting([row.order_id])
                reason = f"{type(error).__name__}: {error}"
                state_store.write_processes(
                    [row._replace(process_state=ProcessState.ERROR, locked_by=None, not_before=None)]
                )
                alerts.open_alerts(
                    [alerts.NewAlert(row.order_id, "unprocessable", type(error).__name__, reason)]
                )
                status.post([status.Status(row.reply_to, row.order_id, StatusKind.FAILED)])
                detail = {"reason": reason, "unread_replies": [reply._asdict() for reply in unread]}
                state_store.record_events(
                    [
                        EventRow(
                            row.order_id,
                            EventKind.ERROR,
                            Actor(ActorKind.SCHEDULER, self._config.instance),
                            detail=detail,
                        )
                    ]
                )
            wake(Topic.PROGRESS)
