"""One order's rows during one pass of the scheduler, as they were read and as they will be, and the replies to it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from orders.engine import parking
from orders.engine.channels.status import Status
from orders.engine.contracts import Workflow
from orders.engine.rows import Actor, EventRow, ProcessRow, ReplyRow, StepRow
from orders.engine.scheduler import dispatch
from orders.engine.scheduler.progress import FAILURES, answers
from orders.engine.scheduler.silence import Silence
from orders.engine.state_store.writes import StepWrite
from orders.engine.waits import Decision, asks_to_compensate
from orders.vocabulary import (
    ActorKind,
    EventKind,
    Goal,
    Outcome,
    ProcessState,
    Reason,
    ReplyOutcome,
    StatusKind,
    StepStatus,
    WaitingFor,
)

NEVER: Mapping[str, datetime | None] = {}


class OrderRecord:
    """An order's process and steps, and the events and messages of this pass. `take` records a reply."""

    def __init__(
        self, *, row: ProcessRow, steps: Sequence[StepRow], workflow: Workflow, instance: str
    ) -> None:
        self.row = row
        self.steps = {step.name: step for step in steps}
        self.events: list[EventRow] = []
        self.statuses: list[Status] = []
        self._read_row = row
        self._read_steps = dict(self.steps)
        self._names = {step.id: step.name for step in steps}
        self._results: dict[str, str] = {}
        self._workflow = workflow
        self._actor = Actor(ActorKind.SCHEDULER, instance)
        self._failed_compensation: StepRow | None = None
        self.is_resolved = False
        """Whether a person's decision ends the order's Error."""

    def step_writes(self) -> Iterator[StepWrite]:
        """The steps that this pass changed."""
        for name, step in self.steps.items():
            before = self._read_steps[name]
            if step is not before:
                yield StepWrite(step, before.attempt, self._results.get(name), before)

    def row_changed(self) -> bool:
        """Whether this pass changed the process."""
        return self.row != self._read_row

    def take(
        self, reply: ReplyRow, now: datetime, succeeded_at: Mapping[str, datetime | None] = NEVER
    ) -> None:
        """Records a reply, whatever the state of the process (rule 4). One that does not count only leaves an event.

        `succeeded_at` says when a call of each agent last succeeded.
        """
        step = self.steps.get(self._names.get(reply.step_id, ""))
        if step is None or not answers(reply, step) or not _finds_under_way(reply, step):
            detail = {"outcome": reply.outcome, "instance": reply.instance, "posted_at": reply.posted_at}
            self._note(EventKind.REPLY_IGNORED, step, attempt=reply.attempt, **detail)
            return
        if reply.outcome == ReplyOutcome.PENDING:
            self._park(step, reply, now)
            return
        step = step._replace(answered=step.attempt, complete_by=None, not_before=None)
        if reply.outcome == ReplyOutcome.DEFERRED:
            self._deferred(step, reply, now, succeeded_at.get(step.agent))
            return
        step = step._replace(wanted_since=None)
        call: dict[str, Any] = {"calls": reply.calls, "waited": reply.waited, "seconds": reply.seconds}
        call |= {"instance": reply.instance, **_exchange_of(reply)}
        if reply.outcome == ReplyOutcome.DONE:
            self._succeeded(step, reply, call)
        elif reply.compensates:
            self._compensation_failed(step, reply, call)
        else:
            self._failed(step, reply, call, now)

    def _succeeded(self, step: StepRow, reply: ReplyRow, call: dict[str, Any]) -> None:
        if reply.compensates and step.is_reversed_first and self.row.goal == Goal.COMPLETE:
            self._renew(step, reply, call)
        elif reply.compensates:
            self.steps[step.name] = step._replace(state=StepStatus.COMPENSATED, error=None, next_request=None)
            self._note(EventKind.STEP_COMPENSATED, step, answer=json.loads(reply.body), **call)
        else:
            self.steps[step.name] = step._replace(
                state=StepStatus.COMPLETED, outcome=Outcome.DONE, error=None
            )
            self._results[step.name] = reply.body
            if isinstance(self._workflow.step_of(step.name).waits_for, Decision):
                call["decision"] = json.loads(reply.body)
            self._note(EventKind.STEP_COMPLETED, step, **call)
            self._decide(step, reply)

    def _renew(self, step: StepRow, reply: ReplyRow, call: dict[str, Any]) -> None:
        """Has a step begin anew, now that nothing of its generation stands: with its next request and a new key."""
        anew = self._forgive_compensation(step.next_generation())._replace(
            state=StepStatus.NOT_STARTED, settles_at=None, awaits=None, awaits_until=None, error=None
        )
        self.steps[step.name] = anew
        self._note(
            EventKind.STEP_RENEWED, step, answer=json.loads(reply.body), generation=anew.generation, **call
        )

    def _forgive_compensation(self, step: StepRow) -> StepRow:
        """The step, whose compensation has as many tries again as if none had failed."""
        forgiven = step.compensation_failure_count
        self.row = self.row._replace(failure_count=self.row.failure_count - forgiven)
        return step._replace(compensation_failure_count=0)

    def _decide(self, step: StepRow, reply: ReplyRow) -> None:
        """Has the order compensated if that is what a person has decided, even if it is in Error meanwhile."""
        wait = self._workflow.step_of(step.name).waits_for
        if wait is None or self.row.goal == Goal.COMPENSATE:
            return
        if asks_to_compensate(wait, json.loads(reply.body)):
            self._compensate(step, Reason.DECIDED)
            if self.row.process_state == ProcessState.ERROR:
                self.is_resolved = True
                self.row = self.row._replace(process_state=ProcessState.PENDING)

    def _compensate(self, step: StepRow | None, why: Reason) -> None:
        """Turns the goal: from now on the order is compensated."""
        self.row = self.row._replace(goal=Goal.COMPENSATE)
        self._note(EventKind.COMPENSATION_REQUESTED, step, why=why)

    def grant(self, silence: Silence) -> None:
        """Gives the customer more time for a declined step, if hers ended in an outage or soon after. Comes before
        `turn`."""
        for step in list(self.steps.values()):
            if step.state != StepStatus.FAILED or step.not_before is None:
                continue
            until = silence.granted_until(step.not_before)
            if until != step.not_before:
                self.steps[step.name] = step._replace(not_before=until)
                self._note(EventKind.WAITING, None, until=until)

    def _park(self, step: StepRow, reply: ReplyRow, now: datetime) -> None:
        parked = self.steps[step.name] = parking.park(step, json.loads(reply.body), now)
        self._note_wait(parked, **_exchange_of(reply))

    def _note_wait(self, step: StepRow, **call: Any) -> None:
        """Records what a step waits for, and until when."""
        detail = {**(step.awaits or {}), "until": step.complete_by or step.not_before, **call}
        self._note(EventKind.AWAITING, step, **detail)

    def _failed(self, step: StepRow, reply: ReplyRow, call: dict[str, Any], now: datetime) -> None:
        error = json.loads(reply.body)
        # What only a newer release knows is no definite no.
        is_refused = reply.outcome in (ReplyOutcome.REFUSED, ReplyOutcome.DECLINED)
        outcome = Outcome.REFUSED if is_refused else Outcome.UNKNOWN
        waits_until = None
        if reply.outcome == ReplyOutcome.DECLINED:
            waits_until = now + timedelta(seconds=self._workflow.step_of(step.name).customer_wait)
            self._tell_declined(step.name, error, waits_until)
            error["waits_for"] = WaitingFor.CUSTOMER
            call["waits_until"] = waits_until
        self.steps[step.name] = step._replace(
            state=StepStatus.FAILED, outcome=outcome, error=error, not_before=waits_until
        )
        self._note(FAILURES.get(reply.outcome, EventKind.STEP_FAILED), step, error=error, **call)

    def _tell_declined(self, name: str, error: Mapping[str, Any], until: datetime) -> None:
        """Tells the application that a step waits for the customer, unless the order is being compensated anyway."""
        if self.row.goal == Goal.COMPLETE:
            body = {
                "step": name,
                **{part: error[part] for part in ("code", "message", "detail") if part in error},
            }
            word = self._workflow.step_of(name).declined_as
            moment = until.astimezone(UTC).isoformat().replace("+00:00", "Z")  # as the API writes times
            self._tell(StatusKind.DECLINED, word=word, **body, waiting_until=moment)

    def _tell(self, kind: StatusKind, /, *, word: str = "", **body: Any) -> None:
        """Tells the application, in a `word` of its own if it has one, and the business, which has a signal."""
        reply_to, *others = self._workflow.queues(self.row.reply_to)
        # There is no signal for a start, and most orders start at once.
        queues = [] if kind is StatusKind.STARTED else others
        self.statuses.append(Status(reply_to, self.row.order_id, word or kind, body))
        self.statuses += [Status(queue, self.row.order_id, kind, body) for queue in queues]

    def _deferred(self, step: StepRow, reply: ReplyRow, now: datetime, succeeded_at: datetime | None) -> None:
        """Makes the step wait for its agent, which cannot be used at present, or for as long as the remote service
        asks; no failure is counted (rule 9).

        But once another order has succeeded there since this step began to wait, the failure is the step's own. Then it
        stays in flight and is overdue, for the supervisor to count it and to apply its remedy (V2). A step that the
        supervisor has made wait before this reply was read goes on waiting.
        """
        cause = json.loads(reply.body)
        detail: dict[str, Any] = {"cause": cause, "calls": reply.calls}
        if (
            self.steps[step.name].complete_by is not None
            and reply.calls
            and cause["code"] != "not_called"  # a call that an earlier host may have made
            and "retry_after" not in cause
            and step.wanted_since is not None
            and succeeded_at is not None
            and succeeded_at > step.wanted_since
        ):
            self.steps[step.name] = step._replace(complete_by=now)
            self._note(EventKind.STEP_DEFERRED, step, **detail, counts=True)
            return
        if reply.compensates:
            step = step._replace(state=StepStatus.COMPENSATING)
        else:
            step = dispatch.reset_unanswered(step, was_begun=bool(reply.calls))
        step = step._replace(wanted_since=step.wanted_since or now)
        if wait := cause.get("retry_after"):
            step = step._replace(not_before=now + timedelta(seconds=wait))
            detail["until"] = step.not_before
        step = parking.resume(step, self._read_steps[step.name].answered, now)
        detail |= parking.parked_detail(step)
        self.steps[step.name] = step
        self._note(EventKind.STEP_DEFERRED, step, **detail)

    def _compensation_failed(self, step: StepRow, reply: ReplyRow, call: dict[str, Any]) -> None:
        error = json.loads(reply.body)
        # A compensation that was refused needs a new key to be tried again (StepRow.compensation_key).
        refused = reply.outcome in (ReplyOutcome.REFUSED, ReplyOutcome.DECLINED)
        failed = step._replace(
            state=StepStatus.FAILED,
            error=error,
            compensation_failure_count=step.compensation_failure_count + 1,
            compensation_generation=step.compensation_generation + (1 if refused else 0),
            compensation_sent_at=None if refused else step.compensation_sent_at,
        )
        self.steps[step.name] = self._failed_compensation = failed
        self.row = self.row._replace(failure_count=self.row.failure_count + 1)
        self._note(EventKind.COMPENSATION_FAILED, step, error=error, **call)

    def _note(
        self, kind: EventKind, step: StepRow | None, /, *, attempt: int | None = None, **detail: Any
    ) -> None:
        name = step.name if step else ""
        number = attempt if attempt is not None else (step.attempt if step else 0)
        self.events.append(
            EventRow(self.row.order_id, kind, self._actor, name, number, detail, self.row.customer_id)
        )


def _exchange_of(reply: ReplyRow) -> dict[str, Any]:
    """What was sent and answered, for an event; nothing if its host has not said so."""
    return {"exchange": json.loads(reply.exchange)} if reply.exchange else {}


def _finds_under_way(reply: ReplyRow, step: StepRow) -> bool:
    """Whether a reply that says that the answer comes later still has something to park."""
    if reply.outcome != ReplyOutcome.PENDING:
        return True
    return step.state in (StepStatus.RUNNING, StepStatus.COMPENSATING, StepStatus.NOT_STARTED)
