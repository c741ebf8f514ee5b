"""The supervisor: finds steps and orders that are past their complete-by time, and asks for a remedy (V1–V7).

It only changes rows: schedulers and agents carry out the retries and compensations (V5). A sweep is one transaction for
up to a few hundred orders, and it is safe to run twice at once. A lease elects one leader, to save work; its term,
checked in the sweep's transaction, stops a leader that was suspended and has been replaced (V6, I6).
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction

from orders.engine import alerts, parking, state_store
from orders.engine.admission import Admission
from orders.engine.alerts import NewAlert, kind_of_failure
from orders.engine.circuits.store import alert_host_changes, find_host_changes, unavailable_agents
from orders.engine.contracts import Workflows, agents_of
from orders.engine.errors import LeadershipLost
from orders.engine.figures.taking import FigureTaker
from orders.engine.retry_rules import RetryRules
from orders.engine.role_health import RoleHealth, Trouble, release_troubles
from orders.engine.rows import Actor, EventRow, ProcessRow, StepRow
from orders.engine.runtime.isolation import Isolation, Scope
from orders.engine.runtime.loop import Counts
from orders.engine.runtime.sql import database_now
from orders.engine.runtime.text import strict_json
from orders.engine.runtime.whole_reads import WholeReads
from orders.engine.state_store.pauses import PausedSteps
from orders.engine.state_store.writes import StepWrite
from orders.engine.supervisor import leadership
from orders.engine.supervisor.explanations import error_of, explain
from orders.engine.supervisor.finding import (
    Finding,
    back_to_pending,
    ends_of_waits,
    has_overrun,
    in_error,
    is_held_up,
    is_late,
    is_paused,
)
from orders.engine.supervisor.remedies import Ruling, rule_on, rule_on_wait
from orders.engine.supervisor.version_watch import VersionWatch
from orders.engine.waits import asks_to_compensate
from orders.models.health import LeaderLease
from orders.vocabulary import ActorKind, AlertKind, EventKind, Goal, ProcessState, Reason, StepStatus

LEASE = LeaderLease.SUPERVISOR
LONGEST_SWEEP = 30.0
"""Seconds after which a sweep leaves the rest to the next one, so that a shift ends in time, and its other duties are
done."""
LONGEST_PAUSE = 1.0
"""Seconds between two batches of a long sweep at most: far less than the lease, which each batch renews."""


@dataclass(frozen=True, kw_only=True)
class SupervisorConfig:
    """`lease` is how long leadership lasts without a sweep, in seconds; `batch` is the most orders in a transaction.

    Ten seconds are five sweeps of 2 s: a slow sweep does not cost the lead, and a killed leader is soon replaced.
    A hundred orders take some hundredths of a second, so nobody who needs one of them, or the processor, waits longer.
    `confirm` is for how long no process must have run an agent, beyond its missed heartbeats, before operators are
    told: the heartbeats may only have been held up, by a database that was restarted.
    """

    instance: str
    lease: float = 10.0
    batch: int = 100
    confirm: float = 10.0
    rules: RetryRules = field(default_factory=RetryRules)


class Supervisor:
    """One instance. It leads from `acquire` to `release`; the others stand by."""

    def __init__(
        self, *, config: SupervisorConfig, workflows: Workflows, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._config = config
        self._actor = Actor(ActorKind.SUPERVISOR, config.instance)
        self._admission = Admission(workflows)
        self._agents = agents_of(workflows)
        self._isolation = Isolation(config.batch)
        self._versions = VersionWatch()
        self._figures = FigureTaker()
        self._overdue = WholeReads()
        self.health = RoleHealth(
            role=ActorKind.SUPERVISOR,
            instance=config.instance,
            troubles=self.troubles,
            workflows=self.workflows,
        )
        self._pause = pause
        self._term: int | None = None
        self._passed_over: set[UUID] = set()
        self._unhosted_since: dict[str, float] = {}

    def acquire(self) -> bool:
        """Takes the lead if it is free; returns whether this instance leads."""
        if self._term is None:
            self._term = leadership.acquire(LEASE, holder=self._config.instance, seconds=self._config.lease)
        return self._term is not None

    def _check_lead(self) -> None:
        leadership.check(LEASE, term=self._term or 0)

    def release(self) -> None:
        """Gives up the lead."""
        if self._term is not None:
            leadership.release(LEASE, term=self._term)
            self._term = None

    def run_once(self) -> Counts:
        """Sweeps until nothing is overdue, or for `LONGEST_SWEEP`, and renews the lease.

        Raises `LeadershipLost` if another instance leads.

        After each batch it pauses for as long as the batch has taken. When thousands of steps expire at once, their
        recovery is not urgent to the second, and new orders need the processor, too (F30).
        """
        assert self._term is not None, "acquire the lead first"
        total: Counter[str] = Counter()
        # Orders that somebody else has locked, or whose workflow this release does not have, must not hold up others.
        self._passed_over = set()
        ends = time.monotonic() + LONGEST_SWEEP
        try:
            while True:
                began = time.monotonic()
                counts = self._isolation.run(self._sweep, self._set_aside)
                total.update(counts.done)
                leadership.renew(LEASE, term=self._term, seconds=self._config.lease, report=dict(total))
                if not counts.busy or time.monotonic() >= ends:
                    if total["found"]:
                        leadership.record_sweep(LEASE, term=self._term, report=total)
                    self._watch_hosts()
                    self._versions.look()
                    self._figures.run_once(self._check_lead, beat=self.health.beat)
                    return Counts(done=dict(total))
                self.health.beat()  # a long sweep must not look like a supervisor that has died
                self._pause(min(time.monotonic() - began, LONGEST_PAUSE))
        except LeadershipLost:
            self._term = None
            raise

    def troubles(self) -> list[Trouble]:
        """What is wrong with this supervisor, its release, or the processes that orders need, for operators."""
        return [
            *self._admission.troubles,
            *release_troubles(ActorKind.SUPERVISOR, self._isolation.release_failures()),
            *self._versions.troubles,
        ]

    def workflows(self) -> Workflows:
        """The workflows whose orders this supervisor watches."""
        return self._admission.workflows

    def _watch_hosts(self) -> None:
        """Alerts operators to agents that steps wait for and that no process runs."""
        changes = find_host_changes(self._agents)
        now = time.monotonic()
        self._unhosted_since = {agent: self._unhosted_since.get(agent, now) for agent in changes.unhosted}
        confirmed = [
            agent for agent, since in self._unhosted_since.items() if now - since >= self._config.confirm
        ]
        if confirmed or changes.rehosted:
            with transaction.atomic():
                leadership.check(LEASE, term=self._term or 0)
                alert_host_changes(changes._replace(unhosted=confirmed))

    def _sweep(self, scope: Scope) -> Counts:
        self._admission.check()
        with transaction.atomic():
            leadership.check(LEASE, term=self._term or 0)
            now = database_now()
            overdue_ids = self._find_overdue(scope, now) if scope.only is None else list(scope.only)
            rows = state_store.lock(overdue_ids, self.workflows())
            self._passed_over |= set(overdue_ids) - {row.order_id for row in rows}
            scope.touched.extend(row.order_id for row in rows)
            steps = state_store.steps_of(scope.touched)
            unavailable = unavailable_agents(self._agents, now) if rows else {}
            paused = state_store.paused_steps() if rows else {}
            findings = [self._examine(row, steps[row.order_id], now, unavailable, paused) for row in rows]
            explain(findings)
            self._write(findings)
        self._overdue.confirm()
        rulings = Counter(event.kind for finding in findings for event in finding.events)
        done = {
            "found": len(findings),
            "recovered": sum(finding.failed is None for finding in findings),
            "escalated": sum(finding.failed is not None for finding in findings),
            "steps_timed_out": rulings[EventKind.STEP_TIMED_OUT] + rulings[EventKind.COMPENSATION_TIMED_OUT],
        }
        return Counts(busy=len(overdue_ids) >= scope.limit and scope.only is None, done=done)

    def _find_overdue(self, scope: Scope, now: datetime) -> list[UUID]:
        passed_over = self._passed_over | scope.without

        def look(since: datetime | None) -> list[UUID]:
            return state_store.overdue(scope.limit, now, passed_over=passed_over, since=since)

        return self._overdue.read(look, limit=scope.limit, now=now)

    def _examine(
        self,
        row: ProcessRow,
        steps: Iterable[StepRow],
        now: datetime,
        unavailable: Collection[str],
        paused_steps: PausedSteps,
    ) -> Finding:
        """Decides about each overdue step of an order, and about the order itself."""
        finding = Finding(row=row, workflow=self.workflows()[row.workflow, row.version])
        overdue = [step for step in steps if is_late(step.complete_by, now)]
        for step in overdue:
            if finding.workflow.step_of(step.name).waits_for is not None:
                self._examine_wait(finding, step)
                continue
            # What was handed back and is in flight counts, as the agent works for others; of what is paused, nothing.
            counts = step.agent not in unavailable or step.answered == step.attempt
            self._examine_step(finding, step, now, counts and not is_paused(step, row, paused_steps))
        if finding.row.goal != row.goal:
            # The remedy of one step is to compensate the order, which also covers the failures of the others.
            finding.failed = None
        row = finding.row
        if row.process_state == ProcessState.ERROR:
            return finding
        if (overran := has_overrun(row, now)) and not is_held_up(row, steps, paused_steps):
            row = row._replace(overruns=row.overruns + 1, failure_count=row.failure_count + 1)
            finding.events.append(self._event(row, EventKind.ORDER_OVERRAN, None, overruns=row.overruns))
            if row.overruns >= self._config.rules.threshold and finding.failed is None:
                finding.failed = (AlertKind.ORDER_OVERRAN, None)
        if finding.failed is not None:
            finding.row = in_error(row)
            finding.writes += ends_of_waits(step for step in steps if step not in overdue)
        elif overdue or overran:
            finding.row = back_to_pending(finding, row, now)
        return finding

    def _examine_step(self, finding: Finding, step: StepRow, now: datetime, is_available: bool) -> None:
        rules, declared = self._config.rules, finding.workflow.step_of(step.name)
        ruling, after = rule_on(
            step,
            declared,
            goal=finding.row.goal,
            rules=rules,
            now=now,
            jitter=rules.backoff(declared),
            is_available=is_available,
        )
        counted = (
            after.failure_count
            + after.compensation_failure_count
            - step.failure_count
            - step.compensation_failure_count
        )
        finding.row = finding.row._replace(failure_count=finding.row.failure_count + counted)
        finding.writes.append(StepWrite(after, step.attempt))
        compensating = step.is_backward
        kind = EventKind.COMPENSATION_TIMED_OUT if compensating else EventKind.STEP_TIMED_OUT
        failures = after.compensation_failure_count if compensating else after.failure_count
        detail = {"ruling": ruling.name.lower(), "failures": failures, "until": after.not_before}
        detail |= parking.parked_detail(after)
        finding.events.append(self._event(finding.row, kind, step, **detail))
        if ruling is Ruling.COMPENSATE:
            self._compensate(finding, step, Reason.STEP_REMEDY)
        elif ruling is Ruling.FAIL:
            finding.failed = (kind_of_failure(finding.row.goal), after)

    def _examine_wait(self, finding: Finding, step: StepRow) -> None:
        """Ends a wait for a decision or an outside event that did not come in time."""
        declared = finding.workflow.step_of(step.name)
        ruling, after, result = rule_on_wait(step, declared, goal=finding.row.goal)
        text = None if result is None else strict_json(dict(result))
        finding.writes.append(StepWrite(after, step.attempt, text))
        if ruling is Ruling.DEFAULT:
            finding.events.append(self._event(finding.row, EventKind.STEP_COMPLETED, step, default=result))
        else:
            detail = {"ruling": ruling.name.lower()}
            finding.events.append(self._event(finding.row, EventKind.WAIT_ENDED, step, **detail))
        if ruling is Ruling.COMPENSATE:
            self._compensate(finding, step, Reason.STEP_REMEDY)
        elif ruling is Ruling.FAIL:
            finding.failed = (AlertKind.STEP_FAILED, after)
        elif asks_to_compensate(declared.waits_for, result):
            if finding.row.process_state == ProcessState.ERROR:
                finding.is_resolved = True
                finding.row = finding.row._replace(process_state=ProcessState.PENDING)
            self._compensate(finding, step, Reason.DECIDED)

    def _compensate(self, finding: Finding, step: StepRow, why: Reason) -> None:
        """Asks for the compensation of the order, unless it is in Error, where an operator has to act first."""
        if finding.row.process_state != ProcessState.ERROR:
            finding.row = finding.row._replace(goal=Goal.COMPENSATE)
            finding.events.append(self._event(finding.row, EventKind.COMPENSATION_REQUESTED, step, why=why))

    def _write(self, findings: list[Finding]) -> None:
        opened = []
        for finding in findings:
            if finding.failed is not None:
                kind, step = finding.failed
                error = error_of(finding)
                name, agent = (step.name, step.agent) if step else ("", "")
                opened.append(
                    NewAlert(finding.row.order_id, kind.value, error["code"], error["message"], name, agent)
                )
                finding.events.append(
                    self._event(finding.row, EventKind.ERROR, step, alert=kind.value, error=error)
                )
        state_store.write_steps([write for finding in findings for write in finding.writes])
        state_store.write_processes([finding.row for finding in findings])
        if resolved := [finding.row.order_id for finding in findings if finding.is_resolved]:
            alerts.close_alerts(resolved, by=self._actor.name, resolution="cancelled")
        alerts.open_alerts(opened)
        state_store.record_events(event for finding in findings for event in finding.events)

    def _set_aside(self, order_ids: list[UUID], error: Exception) -> None:
        """Puts the order that no sweep can handle into Error, so that no sweep finds it again (rule 11)."""
        with transaction.atomic():
            leadership.check(LEASE, term=self._term or 0)
            reason = f"{type(error).__name__}: {error}"
            now = database_now()
            rows = state_store.lock(order_ids, self.workflows())
            late_steps = {
                order_id: [step for step in steps if is_late(step.complete_by, now)]
                for order_id, steps in state_store.steps_of(row.order_id for row in rows).items()
            }
            rows = [row for row in rows if late_steps[row.order_id] or has_overrun(row, now)]
            failed_steps = [
                step._replace(state=StepStatus.FAILED, complete_by=None, error={"code": "unprocessable"})
                for row in rows
                for step in late_steps[row.order_id]
            ]
            state_store.write_steps([StepWrite(step, step.attempt) for step in failed_steps])
            state_store.stop_waiting([row.order_id for row in rows])
            state_store.write_processes([in_error(row) for row in rows])
            alerts.open_alerts(
                [
                    NewAlert(row.order_id, AlertKind.UNPROCESSABLE.value, type(error).__name__, reason)
                    for row in rows
                ]
            )
            state_store.record_events(self._event(row, EventKind.ERROR, None, reason=reason) for row in rows)

    def _event(self, row: ProcessRow, kind: EventKind, step: StepRow | None, **detail: object) -> EventRow:
        name, attempt = (step.name, step.attempt) if step else ("", 0)
        return EventRow(row.order_id, kind, self._actor, name, attempt, detail, row.customer_id)
