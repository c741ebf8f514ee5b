"""One order during one pass of the scheduler: its rows as they were read and as they will be, and what follows.

Nothing here touches the database. The scheduler writes what all the orders of a pass have collected, at once.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from orders.engine.alerts import NewAlert
from orders.engine.channels.requests import NewRequest
from orders.engine.channels.status import Status
from orders.engine.contracts import Step, Workflow
from orders.engine.errors import WorkflowError
from orders.engine.rows import Actor, EventRow, ProcessRow, ReplyRow, StepRow
from orders.engine.scheduler import dispatch
from orders.engine.scheduler.compensation import next_compensation_moves
from orders.engine.scheduler.progress import (
    ENDED,
    FAILURES,
    FINISHED,
    Decision,
    Moves,
    answers,
    needs_operator,
    next_moves,
)
from orders.engine.state_store.writes import StepWrite
from orders.vocabulary import (
    ActorKind,
    AlertKind,
    EventKind,
    Goal,
    Outcome,
    ProcessState,
    Reason,
    ReplyOutcome,
    StatusKind,
    StepStatus,
)


class OrderPass:
    """First `take` records replies, then `turn` and `advance` decide; the other attributes collect what to write."""

    def __init__(
        self, *, row: ProcessRow, steps: Sequence[StepRow], workflow: Workflow, instance: str
    ) -> None:
        self.row = row
        self.steps = {step.name: step for step in steps}
        self.new_requests: list[NewRequest] = []
        self.superseded: list[int] = []
        self.alerts: list[NewAlert] = []
        self.statuses: list[Status] = []
        self.events: list[EventRow] = []
        self._read_row = row
        self._read_steps = dict(self.steps)
        self._names = {step.id: step.name for step in steps}
        self._results: dict[str, str] = {}
        self._workflow = workflow
        self._instance = instance
        self._actor = Actor(ActorKind.SCHEDULER, instance)
        self._failed_compensation: StepRow | None = None
        self._next: Moves | None = None
        self._waits: set[str] = set()

    def step_writes(self) -> Iterator[StepWrite]:
        """The steps that this pass changed."""
        for name, step in self.steps.items():
            before = self._read_steps[name]
            if step is not before:
                yield StepWrite(step, before.attempt, self._results.get(name))

    def row_changed(self) -> bool:
        """Whether this pass changed the process."""
        return self.row != self._read_row

    def take(self, reply: ReplyRow, now: datetime) -> None:
        """Records a reply, whatever the state of the process (rule 4). One that does not count only leaves an event."""
        step = self.steps.get(self._names.get(reply.step_id, ""))
        if step is None or not answers(reply, step):
            detail = {"outcome": reply.outcome, "instance": reply.instance, "posted_at": reply.posted_at}
            self._note(EventKind.REPLY_IGNORED, step, attempt=reply.attempt, **detail)
            return
        step = step._replace(answered=step.attempt, complete_by=None, not_before=None)
        if reply.outcome == ReplyOutcome.DEFERRED:
            self._deferred(step, reply)
            return
        step = step._replace(wanted_since=None)
        call: dict[str, Any] = {"calls": reply.calls, "waited": reply.waited, "seconds": reply.seconds}
        call |= {"instance": reply.instance}
        if reply.outcome == ReplyOutcome.DONE:
            self._succeeded(step, reply, call)
        elif reply.compensates:
            self._compensation_failed(step, reply, call)
        else:
            self._failed(step, reply, call, now)

    def _succeeded(self, step: StepRow, reply: ReplyRow, call: dict[str, Any]) -> None:
        if reply.compensates:
            self.steps[step.name] = step._replace(state=StepStatus.COMPENSATED, error=None)
            self._note(EventKind.STEP_COMPENSATED, step, answer=json.loads(reply.body), **call)
        else:
            self.steps[step.name] = step._replace(
                state=StepStatus.COMPLETED, outcome=Outcome.DONE, error=None
            )
            self._results[step.name] = reply.body
            self._note(EventKind.STEP_COMPLETED, step, **call)

    def _failed(self, step: StepRow, reply: ReplyRow, call: dict[str, Any], now: datetime) -> None:
        error = json.loads(reply.body)
        outcome = Outcome.UNKNOWN if reply.outcome == ReplyOutcome.FAILED else Outcome.REFUSED
        waits_until = None
        if reply.outcome == ReplyOutcome.DECLINED:
            waits_until = now + timedelta(seconds=self._workflow.by_name[step.name].customer_wait)
            error["waits_for"] = "customer"
            call["waits_until"] = waits_until
        self.steps[step.name] = step._replace(
            state=StepStatus.FAILED, outcome=outcome, error=error, not_before=waits_until
        )
        self._note(FAILURES[ReplyOutcome(reply.outcome)], step, error=error, **call)

    def _deferred(self, step: StepRow, reply: ReplyRow) -> None:
        """Makes the step wait for its agent, which cannot be used at present; no failure is counted (rule 9)."""
        if reply.compensates:
            self.steps[step.name] = step._replace(state=StepStatus.COMPENSATING)
        else:
            self.steps[step.name] = dispatch.reset_unanswered(step, was_begun=bool(reply.calls))
        self._note(EventKind.STEP_DEFERRED, step, cause=json.loads(reply.body), calls=reply.calls)

    def _compensation_failed(self, step: StepRow, reply: ReplyRow, call: dict[str, Any]) -> None:
        error = json.loads(reply.body)
        # A compensation that was refused needs a new key to be tried again (StepRow.compensation_key).
        refused = reply.outcome in (ReplyOutcome.REFUSED, ReplyOutcome.DECLINED)
        failed = step._replace(
            state=StepStatus.FAILED,
            error=error,
            compensation_failure_count=step.compensation_failure_count + 1,
            compensation_generation=step.compensation_generation + (1 if refused else 0),
        )
        self.steps[step.name] = self._failed_compensation = failed
        self.row = self.row._replace(failure_count=self.row.failure_count + 1)
        self._note(EventKind.COMPENSATION_FAILED, step, error=error, **call)

    def urgency(self) -> tuple[int, Any]:
        """The order in which orders get an agent's room: by priority, then by age (A9)."""
        return -self.row.priority, self.row.order_id

    def retries_ready(self) -> list[str]:
        """The agents of the steps that may be retried in this pass, at most; one entry for each step."""
        if self.row.process_state in ENDED:
            return []
        return [
            step.agent
            for step in self.steps.values()
            if dispatch.is_retry(step, self.row.goal)
            and step.complete_by is None
            and step.state not in FINISHED
        ]

    def recallable(self) -> list[StepRow]:
        """The forward steps under way of an order that is being compensated."""
        if self.row.goal != Goal.COMPENSATE or self.row.process_state in ENDED:
            return []
        return [step for step in self.steps.values() if step.state == StepStatus.RUNNING]

    def recalled(self, step_id: int) -> None:
        """Records that a step's request was deleted before any agent host had claimed it."""
        step = self.steps[self._names[step_id]]
        self.steps[step.name] = dispatch.reset_unanswered(
            step._replace(answered=step.attempt, complete_by=None), was_begun=False
        )
        self._next = None
        self._note(EventKind.STEP_RECALLED, step)

    def turn(self, now: datetime) -> None:
        """Decides whether the order is compensated from now on. Comes before the recall, which depends on it."""
        if self._is_open(now) and self._failed_compensation is None:
            self._next = self._moves(now)
            if self._next.decision is Decision.COMPENSATE:
                self.row = self.row._replace(goal=Goal.COMPENSATE)
                self._note(EventKind.COMPENSATION_REQUESTED, None, why=Reason.CUSTOMER_DID_NOT_RESOLVE)
                self._next = None

    def advance(self, now: datetime, take_credit: dispatch.TakeCredit = dispatch.unlimited) -> None:
        """Decides what comes next. An order that has ended, or is past its complete-by time, starts nothing (C8).

        A step for which `take_credit` has no credit waits for its agent.
        """
        self._advance(now, take_credit)
        if self.row.process_state in ENDED or self._is_open(now):
            for step in list(self.steps.values()):
                if step.waiting_since is not None and step.name not in self._waits:
                    self.steps[step.name] = step._replace(waiting_since=None, wanted_since=None)

    def _advance(self, now: datetime, take_credit: dispatch.TakeCredit) -> None:
        if self._failed_compensation is not None and self.row.process_state not in ENDED:
            self._to_error(self._failed_compensation, AlertKind.COMPENSATION_FAILED)
            return
        if not self._is_open(now):
            if self.row.process_state == ProcessState.PROCESSING:
                self.row = self.row._replace(
                    not_before=None
                )  # left to the supervisor, and not claimed until then
            return
        if self._next is None:
            self.turn(now)
        moves = self._next or self._moves(now)
        if moves.decision is Decision.FINISH:
            self._finish()
        elif moves.decision is Decision.FAIL:
            self._to_error(
                next(step for step in self.steps.values() if needs_operator(step)), AlertKind.STEP_FAILED
            )
        else:
            self._go_on(moves, now, take_credit)

    def _is_open(self, now: datetime) -> bool:
        row = self.row
        if row.process_state == ProcessState.PROCESSING:
            return row.complete_by is None or row.complete_by > now
        return row.process_state == ProcessState.PENDING

    def _moves(self, now: datetime) -> Moves:
        decide = next_moves if self.row.goal == Goal.COMPLETE else next_compensation_moves
        return decide(self._workflow, self.steps.values(), now)

    def _finish(self) -> None:
        completed = self.row.goal == Goal.COMPLETE
        state = ProcessState.PROCESSED if completed else ProcessState.COMPENSATED
        self.row = self.row._replace(process_state=state, locked_by=None, not_before=None)
        self._note(EventKind.PROCESSED if completed else EventKind.COMPENSATED, None)
        self._tell(StatusKind.COMPLETED if completed else StatusKind.COMPENSATED)

    def _to_error(self, step: StepRow, kind: AlertKind) -> None:
        self.row = self.row._replace(process_state=ProcessState.ERROR, locked_by=None, not_before=None)
        error = step.error or {}
        code, message = error.get("code", "unknown"), error.get("message", "")
        self.alerts.append(NewAlert(self.row.order_id, kind.value, code, message, step.name, step.agent))
        self._note(EventKind.ERROR, step, alert=kind.value, error=error)
        self._tell(StatusKind.FAILED, step=step.name, code=code)

    def _go_on(self, moves: Moves, now: datetime, take_credit: dispatch.TakeCredit) -> None:
        waits = [] if moves.wake_at is None else [moves.wake_at]
        in_flight = moves.in_flight
        for step, declared in moves.start:
            error = dispatch.key_expiry_error(step, declared, self.row.goal, now)
            if error is None and take_credit(step.agent, dispatch.is_retry(step, self.row.goal)):
                self._start(step, declared, now)
                in_flight = True
                continue
            wanted_since = step.wanted_since or now
            due = wanted_since + timedelta(seconds=declared.patience)
            if error is None and due <= now:
                error = dispatch.patience_error(step, declared)
            if error is not None:
                self._give_up(step, declared, error)
                self._advance(now, take_credit)
                return
            self._wait(step._replace(wanted_since=wanted_since), now)
            waits.append(due)
        if in_flight:
            self._hold(min(waits, default=None), now)
        elif waits:
            if self.row.process_state == ProcessState.PROCESSING and moves.wake_at is not None:
                self._note(EventKind.WAITING, None, until=moves.wake_at)
            self.row = self.row._replace(
                process_state=ProcessState.PENDING, locked_by=None, not_before=min(waits)
            )
        else:
            raise WorkflowError("no step is under way, waits or can be started")

    def _wait(self, step: StepRow, now: datetime) -> None:
        """Makes a step that is ready wait for its agent, with no complete-by and no failure counted (rule 9)."""
        if step.waiting_since is None:
            self._note(EventKind.WAITING_FOR_AGENT, step, agent=step.agent)
        self._waits.add(step.name)
        since = step.waiting_since or now
        self.steps[step.name] = step._replace(waiting_since=since, priority=self.row.priority)

    def _give_up(self, step: StepRow, declared: Step, error: dict[str, Any]) -> None:
        """Applies the remedy of a step that is no longer sent automatically (V4)."""
        failed = step._replace(
            state=StepStatus.FAILED, error=error, not_before=None, waiting_since=None, wanted_since=None
        )
        self.steps[step.name] = failed
        self._next = None
        self._waits.clear()
        self._note(EventKind.STEP_GIVEN_UP, step, error=error)
        if self.row.goal == Goal.COMPENSATE:
            self._failed_compensation = failed
        elif declared.remedy.then == "compensate" and error["code"] != "key_expired":
            self.row = self.row._replace(goal=Goal.COMPENSATE)
            self._note(EventKind.COMPENSATION_REQUESTED, step, why=Reason.STEP_REMEDY)

    def _hold(self, wake_at: datetime | None, now: datetime) -> None:
        """Takes charge of the order: claims it if it is free, or takes it over from another instance."""
        if self.row.process_state == ProcessState.PENDING:
            complete_by = now + timedelta(seconds=self._workflow.complete_by)
            self.row = self.row._replace(process_state=ProcessState.PROCESSING, complete_by=complete_by)
            self.events.insert(0, EventRow(self.row.order_id, EventKind.CLAIMED, self._actor))
            if self.row.started_at is None:
                self.row = self.row._replace(started_at=now)
                self._tell(StatusKind.STARTED)
        self.row = self.row._replace(locked_by=self._instance, not_before=wake_at)

    def _start(self, step: StepRow, declared: Step, now: datetime) -> None:
        compensates = self.row.goal == Goal.COMPENSATE
        if step.attempt:
            self.superseded.append(step.id)
        complete_by = now + timedelta(seconds=declared.complete_by)
        started = step._replace(
            attempt=step.attempt + 1, complete_by=complete_by, not_before=None, waiting_since=None
        )
        if compensates:
            started = started._replace(state=StepStatus.COMPENSATING)
        else:
            settles_at = complete_by + timedelta(seconds=declared.settle)
            started = started._replace(
                state=StepStatus.RUNNING,
                outcome=Outcome.UNKNOWN,
                settles_at=settles_at,
                sent_at=step.sent_at or now,
            )
        self.steps[step.name] = started
        key = step.compensation_key() if compensates else step.key()
        self.new_requests.append(
            NewRequest(
                step_id=step.id,
                operation=declared.operation,
                needs=",".join((*declared.needs, step.name) if compensates else declared.needs),
                compensates=compensates,
                key=key,
                reverses=step.key() if compensates else "",
                priority=self.row.priority,
            )
        )
        kind = EventKind.COMPENSATION_STARTED if compensates else EventKind.STEP_STARTED
        self._note(kind, started, key=key, agent=step.agent)

    def _note(
        self, kind: EventKind, step: StepRow | None, *, attempt: int | None = None, **detail: Any
    ) -> None:
        name = step.name if step else ""
        number = attempt if attempt is not None else (step.attempt if step else 0)
        self.events.append(EventRow(self.row.order_id, kind, self._actor, name, number, detail))

    def _tell(self, kind: StatusKind, **body: Any) -> None:
        self.statuses.append(Status(self.row.reply_to, self.row.order_id, kind, body))
