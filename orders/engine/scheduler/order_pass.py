"""One order during one pass of the scheduler: what follows from its rows and replies.

Nothing here touches the database. The scheduler writes what all the orders of a pass have collected, at once.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from orders.engine import parking
from orders.engine.alerts import NewAlert, kind_of_failure, public_cause
from orders.engine.channels.requests import NewRequest
from orders.engine.contracts import Delay, Step, Workflow
from orders.engine.errors import WorkflowError
from orders.engine.results import types_of
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.engine.scheduler import branching, dispatch
from orders.engine.scheduler.branched_order import Turn
from orders.engine.scheduler.compensation import next_compensation_moves
from orders.engine.scheduler.paused_order import PausedOrder
from orders.engine.scheduler.progress import ENDED, FINISHED, Decision, Moves, needs_operator, next_moves
from orders.vocabulary import (
    AlertKind,
    EventKind,
    Goal,
    Outcome,
    ProcessState,
    Reason,
    StatusKind,
    StepStatus,
)


class OrderPass(PausedOrder):
    """First `take` records replies, then `turn` and `advance` decide; the other attributes collect what to write."""

    def __init__(
        self, *, row: ProcessRow, steps: Sequence[StepRow], workflow: Workflow, instance: str
    ) -> None:
        super().__init__(row=row, steps=steps, workflow=workflow, instance=instance)
        self.new_requests: list[NewRequest] = []
        self.superseded: list[int] = []
        self.alerts: list[NewAlert] = []
        self._instance = instance
        self._next: Moves | None = None
        self._waits: set[str] = set()

    def urgency(self, by_age: Collection[UUID] = ()) -> tuple[bool, int, datetime, UUID]:
        """The order in which orders get an agent's room: those claimed `by_age`, then by priority, then by age (A9)."""
        order_id = self.row.order_id
        return order_id not in by_age, -self.row.priority, self.row.created_at, order_id

    def retries_ready(self) -> list[str]:
        """The agents of the steps that may be retried in this pass, at most; one entry for each step."""
        if self.row.process_state in ENDED or self.rests:
            return []
        return [
            step.agent
            for step in self.steps.values()
            if dispatch.is_retry(step, self.row.goal)
            and (step.complete_by is None or step.state == StepStatus.AWAITING)
            and step.state not in FINISHED
            and not self._is_held(step)
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
        self._end_pause(now)
        if not self.rests and self._is_open(now) and self._failed_compensation is None:
            self._next = self._moves(now)
            if self._next.decision is Decision.COMPENSATE:
                self._compensate(None, Reason.CUSTOMER_DID_NOT_RESOLVE)
                self._next = None

    def asks_facts(self) -> bool:
        """Whether it depends on the order's data or results what comes next. Asked after `turn`, before `advance`."""
        moves = self._next if self._workflow.has_branches else None
        return moves is not None and any(branching.asks(step, declared) for step, declared in moves.start)

    def advance(self, now: datetime, take_credit: dispatch.TakeCredit = dispatch.unlimited) -> None:
        """Decides what comes next. An order that has ended, is past its complete-by time (C8) or is paused starts
        nothing.

        A step for which `take_credit` has no credit waits for its agent, and one that is paused until it is resumed.
        """
        self._advance(now, take_credit)
        if self.row.process_state in ENDED or self._is_open(now):
            for step in list(self.steps.values()):
                if step.waiting_since is not None and step.name not in self._waits:
                    self.steps[step.name] = step._replace(waiting_since=None, wanted_since=None)
            for step in list(self.steps.values()):
                if step.paused_since is not None and step.name not in self._held:
                    self.steps[step.name] = step._replace(paused_since=None)

    def _advance(self, now: datetime, take_credit: dispatch.TakeCredit) -> None:
        if self._failed_compensation is not None and self.row.process_state not in ENDED:
            self._to_error(self._failed_compensation, kind_of_failure(self.row.goal))
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
        if self.rests and moves.decision in (Decision.CONTINUE, Decision.COMPENSATE):
            self._rest(moves, now)
            return
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
        if self.row.goal == Goal.COMPENSATE:
            self._end_waits()
        decide = next_moves if self.row.goal == Goal.COMPLETE else next_compensation_moves
        return decide(self._workflow, self.steps.values(), now)

    def _end_waits(self) -> None:
        """Ends what steps wait for on the way forward, since the order is being compensated."""
        for step in list(self.steps.values()):
            if step.state == StepStatus.AWAITING and not step.is_backward:
                self.steps[step.name] = parking.end_wait(step)
                self._note(EventKind.WAIT_ENDED, step, ruling="settle")

    def _finish(self) -> None:
        completed = self.row.goal == Goal.COMPLETE
        state = ProcessState.PROCESSED if completed else ProcessState.COMPENSATED
        self.row = self.row._replace(process_state=state, locked_by=None, not_before=None)
        self._note(EventKind.PROCESSED if completed else EventKind.COMPENSATED, None)
        self._tell(StatusKind.COMPLETED if completed else StatusKind.COMPENSATED, **self._takings())

    def _takings(self) -> dict[str, Any]:
        """Whether the order's value was taken and, of one that is compensated, given back. Nothing if no step takes it,
        or an operator has never learnt whether one did."""
        taking = [step for step in self.steps.values() if self._workflow.step_of(step.name).takes_value]
        if not taking or any(step.outcome == Outcome.UNKNOWN for step in taking):
            return {}
        charges = [step for step in taking if step.outcome == Outcome.DONE]
        takings = {"charged": bool(charges)}
        if self.row.goal == Goal.COMPENSATE:
            takings["refunded"] = any(step.state == StepStatus.COMPENSATED for step in charges)
        return takings

    def _to_error(self, step: StepRow, kind: AlertKind) -> None:
        self.row = self.row._replace(process_state=ProcessState.ERROR, locked_by=None, not_before=None)
        error = step.error or {}
        code, message = error.get("code", "unknown"), error.get("message", "")
        alert = NewAlert(self.row.order_id, kind.value, code, message, step.name, step.agent)
        self.alerts.append(alert)
        self._note(EventKind.ERROR, step, alert=kind.value, error=error)
        self._tell(StatusKind.FAILED, **public_cause(alert))

    def _go_on(self, moves: Moves, now: datetime, take_credit: dispatch.TakeCredit) -> None:
        waits = [wait for wait in (moves.wake_at, moves.parked_until) if wait is not None]
        in_flight = moves.in_flight
        for step, declared in moves.start:
            turn = self._turn_of(step, declared)
            if turn is Turn.OVER:
                self._next = None
                self._advance(now, take_credit)
                return
            if turn is Turn.LATER:
                continue
            if declared.waits_for is not None:
                waiting = self._await(step, declared, now)
                if waiting is None:  # it is over at once, and others may be ready now
                    self._advance(now, take_credit)
                    return
                waits.append(parking.parked_until(waiting, now))
                continue
            if self._is_held(step):
                waits.append(self._hold_back(step, now))
                continue
            wanted_since = step.wanted_since or now
            due = wanted_since + timedelta(seconds=declared.patience)
            error = dispatch.key_expiry_error(step, declared, self.row.goal, now)
            # Without a wait for credit, a step that is wanted for so long has been sent and handed back.
            if error is None and due <= now and step.waiting_since is None:
                error = dispatch.patience_error(step, declared)
            if error is None and take_credit(step.agent, dispatch.is_retry(step, self.row.goal)):
                self._start(step, declared, now)
                in_flight = True
                continue
            if error is None and due <= now:
                error = dispatch.patience_error(step, declared)
            if error is not None:
                self._give_up(step, declared, error)
                self._advance(now, take_credit)
                return
            self._wait(step._replace(wanted_since=wanted_since), now)
            waits.append(due)
        if self.needs_another_pass:
            waits.append(now)
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

    def _rest(self, moves: Moves, now: datetime) -> None:
        """Starts nothing, since the order is paused. What is under way is awaited, and its answer recorded."""
        until = self.row.rest_until(now)
        for step in list(self.steps.values()):
            if step.wanted_since is not None and step.complete_by is None:
                self.steps[step.name] = step._replace(wanted_since=None)  # its patience begins anew
        if any(step.complete_by and step.state != StepStatus.AWAITING for step in self.steps.values()):
            self._hold(until, now)
        else:
            self.row = self.row._replace(process_state=ProcessState.PENDING, locked_by=None, not_before=until)

    def _await(self, step: StepRow, declared: Step, now: datetime) -> StepRow | None:
        """Parks a step that waits for something other than an agent. Returns it; None if its delay is over."""
        if step.state != StepStatus.AWAITING:
            step = self.steps[step.name] = parking.begin_wait(step, declared, now)
            self._note_wait(step)
        if not (isinstance(declared.waits_for, Delay) and parking.is_due(step, now)):
            return step
        self.steps[step.name] = parking.complete_wait(step)
        self._results[step.name] = "{}"
        self._note(EventKind.STEP_COMPLETED, step)
        self._next = None
        return None

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
            state=StepStatus.FAILED,
            error=error,
            complete_by=None,
            not_before=None,
            waiting_since=None,
            wanted_since=None,
        )
        self.steps[step.name] = failed
        self._next = None
        self._waits.clear()
        self._held.clear()
        self._note(EventKind.STEP_GIVEN_UP, step, error=error)
        if step.goes_back(self.row.goal):
            self._failed_compensation = failed
        elif declared.remedy.then == "compensate" and error["code"] != "key_expired":
            self._compensate(step, Reason.STEP_REMEDY)

    def _hold(self, wake_at: datetime | None, now: datetime) -> None:
        """Takes charge of the order: claims it if it is free, or takes it over from another instance."""
        if self.row.process_state == ProcessState.PENDING:
            complete_by = now + timedelta(seconds=self._workflow.complete_by)
            self.row = self.row._replace(process_state=ProcessState.PROCESSING, complete_by=complete_by)
            self.events.insert(
                0,
                EventRow(self.row.order_id, EventKind.CLAIMED, self._actor, customer_id=self.row.customer_id),
            )
            if self.row.started_at is None:
                self.row = self.row._replace(started_at=now)
                self._tell(StatusKind.STARTED)
        self.row = self.row._replace(locked_by=self._instance, not_before=wake_at)

    def _start(self, step: StepRow, declared: Step, now: datetime) -> None:
        compensates = step.goes_back(self.row.goal)
        if step.attempt:
            self.superseded.append(step.id)
        complete_by = now + timedelta(seconds=declared.complete_by)
        started = step._replace(
            attempt=step.attempt + 1,
            complete_by=complete_by,
            settles_at=complete_by + timedelta(seconds=declared.settle),
            not_before=None,
            waiting_since=None,
        )
        if compensates:
            if step.state == StepStatus.FAILED:  # of a reversal that failed before the order was cancelled
                started = self._forgive_compensation(started)
            if step.compensation_sent_at is None:
                # The reference stays, for the agent to find what it reverses.
                started = started._replace(compensation_sent_at=now, awaits_until=None)
            started = started._replace(state=StepStatus.COMPENSATING)
        else:
            if step.sent_at is None:
                started = started._replace(sent_at=now, awaits=None, awaits_until=None)
            started = started._replace(state=StepStatus.RUNNING, outcome=Outcome.UNKNOWN)
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
                is_repeat=dispatch.is_repeat(step, self.row.goal),
                key_is_known=dispatch.is_key_known(step, declared, self.row.goal, now),
                result_fields=types_of(declared.result) if declared.result and not compensates else None,
            )
        )
        kind = EventKind.COMPENSATION_STARTED if compensates else EventKind.STEP_STARTED
        condition = (
            {"condition": True} if not compensates and branching.asks_condition(step, declared) else {}
        )
        self._note(kind, started, key=key, agent=step.agent, **condition)
