"""The scheduler: claims orders, takes replies, starts the steps that are ready, finishes (C1–C10).

A pass is one transaction that reads, decides and writes (rule 1), for up to a few hundred orders with a fixed number of
statements (rule 2). A scheduler holds nothing between passes: killed at any point it loses nothing, and another one
takes the next reply. `progress` and `compensation` decide; this module carries out what they decide.
"""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction

from orders.engine import alerts, state_store
from orders.engine.admission import Admission
from orders.engine.channels import replies, requests, status
from orders.engine.channels.low_water import LowWater
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.circuits.credit import Credit, charge_credit, credit_of
from orders.engine.circuits.retry_budget import charge_retries, reserve_retries
from orders.engine.circuits.store import Viewpoint, send_supplies
from orders.engine.contracts import Workflows, agents_of
from orders.engine.role_health import RoleHealth, Trouble, release_troubles
from orders.engine.rows import Actor, EventRow, ProcessRow
from orders.engine.runtime.batch import AdaptiveBatch
from orders.engine.runtime.isolation import Isolation, Scope
from orders.engine.runtime.loop import Counts
from orders.engine.runtime.sql import DATABASE_TROUBLE, ran_out_of_time
from orders.engine.runtime.statements import known, pipelined_transaction
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.order_claims import OrderClaims
from orders.engine.scheduler.order_pass import OrderPass
from orders.engine.scheduler.progress import ENDED
from orders.engine.scheduler.silence import Silence
from orders.engine.scheduler.workload import Gatherer, Page, Workload
from orders.engine.state_store.pauses import PausedSteps
from orders.vocabulary import ActorKind, EventKind, ProcessState, StatusKind

log = structlog.get_logger()
TIDY_SECONDS = 1.0
TIDY_PASSES = 10
"""Tidying is not urgent. It is due after `TIDY_SECONDS`, once a pass has no replies to take. A scheduler that is
always busy tidies every `TIDY_PASSES` passes, which costs a tenth of them at most."""


class Scheduler:
    """One instance; any number of them run side by side (C3)."""

    def __init__(self, *, config: SchedulerConfig, workflows: Workflows) -> None:
        self._config = config
        self._admission = Admission(workflows)
        self._agents = agents_of(workflows)
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
        self._silence = Silence()
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
        """One transaction in few trips to the server: what may be read before the locks; the locks, and what they
        protect; the steps of orders that are new to the pass; all that is written, and the commit."""
        self._admission.check()
        with state_store.reporting_conflicts(), pipelined_transaction():
            now, page, credit, paused = self._look(scope)
            workload = self._gather(scope, now, page, credit)
            for order in workload.orders:
                order.paused_steps = paused.get(order.row.workflow, {})
            recalled = self._decide(workload, credit, now)
            self._write(workload, credit)
            charge_credit(credit, rules=self._config.breaker, now=now)
            charge_retries(credit.used_retries, rate=self._config.retries)
        self._claims.confirm()
        orders = workload.orders
        changed = sum(order.row_changed() for order in orders)
        return Counts(
            busy=workload.has_more_replies
            or workload.is_held_up
            or (workload.is_full and changed > 0)
            or any(order.needs_another_pass for order in orders),
            wait=workload.next_due,
            done={
                "orders": len(orders),
                "replies": len(workload.replies),
                "started": sum(len(order.new_requests) for order in orders),
                "recalled": recalled,
            },
        )

    def _look(self, scope: Scope) -> tuple[datetime, Page, Credit, PausedSteps]:
        """Reads the time, the next replies, which are locked, what may be dispatched, and which steps are paused."""
        marks = [self._requests.send_refresh(), self._replies.send_refresh()]
        viewpoint = Viewpoint(self._config.instance, self._requests.start)
        supplied = send_supplies(self._agents, counted_for=viewpoint)
        paused = state_store.send_paused_steps()
        swept = state_store.send_last_sweep() if self._silence.is_unknown else known(None)
        most = self._config.batch if scope.only is None else 0
        page = replies.send_peek(most, start=self._replies.start)
        now, supplies = supplied.result()
        for mark in marks:
            mark.result()
        self._silence.note(now, swept_at=swept.result())
        credit = credit_of(supplies, counted_for=viewpoint, rules=self._config.breaker, now=now)
        return now, page.result(), credit, paused.result()

    def _decide(self, workload: Workload, credit: Credit, now: datetime) -> int:
        """Decides what becomes of each order. Returns how many requests were recalled."""
        for order in workload.orders:
            order.grant(self._silence)
            order.turn(now)
        recalled = self._recall(workload.orders)
        asking = {order.row.order_id: order for order in workload.orders if order.asks_facts()}
        for order_id, facts in state_store.facts_of(asking).items():
            asking[order_id].facts = facts
        retries_ready = Counter(agent for order in workload.orders for agent in order.retries_ready())
        retries = sum(min(number, credit.rooms.get(agent, 0)) for agent, number in retries_ready.items())
        credit.retries = reserve_retries(retries, rate=self._config.retries)
        for order in sorted(workload.orders, key=lambda order: order.urgency(workload.by_age)):
            order.advance(now, credit.take)
        return recalled

    def _gather(self, scope: Scope, now: datetime, page: Page, credit: Credit) -> Workload:
        gatherer = Gatherer(
            config=self._config, claims=self._claims, workflows=self.workflows(), scope=scope, now=now
        )
        if scope.only is not None:
            return gatherer.gather_only(scope.only, credit)
        try:
            return gatherer.gather(page, credit)
        except DATABASE_TROUBLE:
            self._claims.fail(now)
            raise

    def _recall(self, orders: Iterable[OrderPass]) -> int:
        """Deletes the requests that no agent has begun, for orders that are being compensated (rule 8)."""
        running = {step.id: order for order in orders for step in order.recallable()}
        recalled = requests.recall(list(running))
        for step_id in recalled:
            running[step_id].recalled(step_id)
        return len(recalled)

    def _write(self, workload: Workload, credit: Credit) -> None:
        """Writes what has been decided."""
        orders = workload.orders
        state_store.send_step_writes([write for order in orders for write in order.step_writes()])
        state_store.add_items([item for order in orders for item in order.new_items])
        replies.delete(workload.replies)
        rows = [order.row for order in orders if order.row_changed()]
        state_store.write_processes(rows)
        new_requests = [new for order in orders for new in order.new_requests]
        requests.discard([step_id for order in orders for step_id in order.superseded])
        requests.post(new_requests, by=self._config.instance)
        if resolved := [order.row.order_id for order in orders if order.is_resolved]:
            alerts.close_alerts(resolved, by=self._config.instance, resolution="cancelled")
        alerts.open_alerts([alert for order in orders for alert in order.alerts])
        events = [event for order in orders for event in order.events]
        state_store.record_events(events)
        status.post(_with_reasons([message for order in orders for message in order.statuses]))
        # Other schedulers may have looked before these orders waited, and have room for them.
        new_waits = any(event.kind == EventKind.WAITING_FOR_AGENT for event in events)
        topics = {
            Topic.AGENTS: new_requests,
            Topic.PROGRESS: rows or events,
            Topic.SCHEDULER: new_waits and credit.is_left_to_others,
        }
        wake(*(topic for topic, is_due in topics.items() if is_due))

    def _tidy_up(self) -> bool:
        """Does what is not urgent; returns whether there is something to do. An error is logged, and costs no pass."""
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
        """Hands back requests that no agent host has claimed, or whose steps are paused, lets the orders of steps go
        on that are paused no more, posts status messages for the supervisor, and deletes replies to orders that are
        gone.

        The supervisor never touches a channel (V5), so a scheduler reports the orders that it has put into Error.
        """
        with transaction.atomic():
            handed_back = requests.hand_back_unclaimed(
                limit, by=self._config.instance, start=self._requests.start
            )
            handed_back += requests.hand_back_paused(
                limit, by=self._config.instance, start=self._requests.start
            )
            released = state_store.release_held(limit)
            replies.delete_orphans(start=self._replies.start)
            rows = state_store.unannounced(limit, self.workflows())
            state_store.write_processes([row._replace(announced=True) for row in rows])
            status.post(self._failures(rows))
            wake(*([Topic.PROGRESS] if rows else []))
        return handed_back + released > 0

    def _failures(self, rows: Iterable[ProcessRow]) -> list[status.Status]:
        """What tells the applications of these orders that they are in Error, and why."""
        rows = list(rows)
        causes = alerts.open_causes([row.order_id for row in rows]) if rows else {}
        return [
            status.Status(queue, row.order_id, StatusKind.FAILED, causes.get(row.order_id))
            for row in rows
            for queue in self.workflows()[row.workflow, row.version].queues(row.reply_to)
        ]

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
                status.post(self._failures([row]))
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


def _with_reasons(messages: list[status.Status]) -> list[status.Status]:
    """The messages, of which those of a compensation say what it was for. The events of the pass have been written."""
    compensated = {m.order_id for m in messages if m.queue and m.kind == StatusKind.COMPENSATED}
    reasons = state_store.compensation_reasons(compensated)
    return [
        message._replace(body={**(message.body or {}), "reason": reasons[message.order_id]})
        if message.kind == StatusKind.COMPENSATED and message.order_id in reasons
        else message
        for message in messages
    ]
