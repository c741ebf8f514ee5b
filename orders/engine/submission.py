"""Submission: takes orders off the submission queue and inserts each with its state-store records, or sets it aside.

The order, its process, its steps and the deletion of its message are one transaction: all or nothing (S2). A message
that comes twice makes one order, and one that can never be inserted holds up no other (S3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from orders.engine import alerts, state_store
from orders.engine.admission import Admission
from orders.engine.channels import status, submissions
from orders.engine.channels.low_water import LowWater
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.contracts import LONGEST_QUEUE, Workflows
from orders.engine.failing_kinds import FailingKinds
from orders.engine.intakes import (
    NOT_INSERTED,
    AcceptedOrder,
    DuplicateSubmission,
    FailedSubmission,
    Intake,
    RejectedSubmission,
    Submission,
    customer_of,
    public_reason,
)
from orders.engine.role_health import RoleHealth, Trouble, release_troubles
from orders.engine.rows import Actor, EventRow
from orders.engine.runtime.isolation import Isolation, Scope
from orders.engine.runtime.loop import Counts
from orders.engine.runtime.statements import pipelined_transaction
from orders.vocabulary import ActorKind, AlertKind, EventKind, Goal, StatusKind


@dataclass(frozen=True, kw_only=True)
class SubmitterConfig:
    """`instance` is this process's id; `batch` is the most messages in one pass, as for the scheduler."""

    instance: str
    batch: int = 200


class Submitter:
    """One instance; any number of them run side by side. `workflows` are those that the intake gives to new orders."""

    def __init__(self, *, config: SubmitterConfig, intake: Intake, workflows: Workflows) -> None:
        self._config = config
        self._admission = Admission(workflows)
        self._actor = Actor(ActorKind.SUBMISSION, config.instance)
        self._intake = intake
        self._kinds = FailingKinds(intake)
        self._isolation = Isolation(config.batch)
        self._messages = LowWater("orders_submissionmessage")
        self.health = RoleHealth(role=ActorKind.SUBMISSION, instance=config.instance, troubles=self.troubles)

    def run_once(self) -> Counts:
        """Makes one pass over the queue. Isolates and sets aside a message that makes the intake itself fail (rule
        11). Messages wait in the queue while their workflow may not be run, is not of this release, or while the code
        of their kind of order fails at different ones (rule 10)."""
        return self._isolation.run(self._pass, self._set_aside)

    def troubles(self) -> list[Trouble]:
        """What is wrong with this process or its release, for operators."""
        return [
            *self._admission.troubles,
            *self._kinds.troubles(),
            *release_troubles(ActorKind.SUBMISSION, self._isolation.release_failures()),
        ]

    def _pass(self, scope: Scope) -> Counts:
        self._admission.check()
        workflows = self._kinds.workflows(self._admission.workflows)
        with pipelined_transaction():
            mark = self._messages.send_refresh()
            taking = submissions.send_take(
                scope.limit,
                only=scope.only,
                without=scope.without,
                start=self._messages.start,
                workflows=workflows,
                unnamed=self._intake.unnamed,
            )
            mark.result()
            messages = taking.result()
            if not messages:
                return Counts()
            scope.touched.extend(submission.order_id for _, submission in messages)
            known_orders = state_store.known_orders(scope.touched)
            new = [submission for _, submission in messages if submission.order_id not in known_orders]
            answers = self._intake(new)
            accepted = [answer for answer in answers if isinstance(answer, AcceptedOrder)]
            failed = [answer for answer in answers if isinstance(answer, FailedSubmission)]
            held = {answer.submission.order_id for answer in failed if self._kinds.holds_back(answer)}
            rejected = [answer for answer in answers if isinstance(answer, RejectedSubmission)]
            rejected += [_rejection(answer) for answer in failed if answer.submission.order_id not in held]
            duplicates = [answer for answer in answers if isinstance(answer, DuplicateSubmission)] + [
                DuplicateSubmission(submission=submission)
                for _, submission in messages
                if submission.order_id in known_orders
            ]
            # The history of an archived order is in the archive, and complete.
            noted = [copy for copy in duplicates if not known_orders.get(copy.submission.order_id)]
            self._insert(accepted, noted)
            self._reject(rejected)
            submissions.delete(
                [message_id for message_id, message in messages if message.order_id not in held]
            )
            wake(Topic.PROGRESS, *([Topic.SCHEDULER] if accepted else []))
        done = {"accepted": len(accepted), "rejected": len(rejected), "duplicates": len(duplicates)}
        return Counts(busy=len(messages) >= scope.limit, done=done)

    def _insert(self, accepted: Sequence[AcceptedOrder], duplicates: Sequence[DuplicateSubmission]) -> None:
        if accepted:
            state_store.create_processes(accepted)
        status.post(
            status.Status(queue, new.submission.order_id, StatusKind.RECEIVED)
            for new in accepted
            for queue in new.workflow.queues(new.reply_to)
        )
        state_store.record_events(
            [
                self._event(
                    new.submission,
                    EventKind.RECEIVED,
                    posted_at=new.submission.posted_at,
                    by=new.submission.client,
                )
                for new in accepted
            ]
            + [self._event(copy.submission, EventKind.DUPLICATE_IGNORED) for copy in duplicates]
        )

    def _reject(self, rejected: Sequence[RejectedSubmission]) -> None:
        """Sets submissions aside. One that was cancelled needs no operator: it ends here, because nothing was done."""
        cancelled = {
            answer.submission.order_id: answer
            for answer in rejected
            if answer.submission.goal == Goal.COMPENSATE
        }
        if cancelled:
            self._close(list(cancelled.values()))
        if others := [answer for answer in rejected if answer.submission.order_id not in cancelled]:
            self._keep(others)

    def _close(self, cancelled: Sequence[RejectedSubmission]) -> None:
        closed = self._intake.close([answer.submission for answer in cancelled])
        state_store.create_closed(closed)
        reasons = state_store.compensation_reasons([order.submission.order_id for order in closed])
        bodies = {order_id: {"reason": reason} for order_id, reason in reasons.items()}
        status.post(
            status.Status(order.reply_to, order_id, StatusKind.COMPENSATED, bodies.get(order_id))
            for order in closed
            for order_id in [order.submission.order_id]
        )
        state_store.record_events(
            self._event(answer.submission, EventKind.COMPENSATED, reason=answer.reason)
            for answer in cancelled
        )

    def _keep(self, rejected: Sequence[RejectedSubmission]) -> None:
        submissions.set_aside(rejected)
        status.post(
            status.Status(
                _queue_named(rejection.submission),
                rejection.submission.order_id,
                StatusKind.FAILED,
                {
                    "reason": AlertKind.SET_ASIDE,
                    "code": AlertKind.SET_ASIDE,
                    "message": public_reason(rejection.reason),
                },
            )
            for rejection in rejected
        )
        alerts.open_alerts(
            [
                alerts.NewAlert(
                    rejection.submission.order_id,
                    AlertKind.SET_ASIDE.value,
                    "cannot_be_inserted",
                    rejection.reason,
                )
                for rejection in rejected
            ]
        )
        state_store.record_events(
            self._event(rejection.submission, EventKind.SET_ASIDE, reason=rejection.reason)
            for rejection in rejected
        )

    def _set_aside(self, order_ids: list[UUID], error: Exception) -> None:
        reason = _reason(error)
        with transaction.atomic():
            messages = submissions.take(len(order_ids), only=order_ids)
            known_orders = state_store.known_orders(order_ids)
            self._reject(
                [
                    RejectedSubmission(submission=submission, reason=reason)
                    for _, submission in messages
                    if submission.order_id not in known_orders
                ]
            )
            submissions.delete([message_id for message_id, _ in messages])
            wake(Topic.PROGRESS)

    def _event(self, submission: Submission, kind: EventKind, **detail: object) -> EventRow:
        customer_id = customer_of(submission.client)
        return EventRow(submission.order_id, kind, self._actor, detail=detail, customer_id=customer_id)


def _rejection(failed: FailedSubmission) -> RejectedSubmission:
    return RejectedSubmission(submission=failed.submission, reason=_reason(failed.error))


def _reason(error: Exception) -> str:
    return f"{NOT_INSERTED}: {type(error).__name__}: {error}"


def _queue_named(submission: Submission) -> str:
    """The response queue that a submission names, or nothing. It may hold anything, as it was set aside."""
    name = submission.body.get("reply_to") if isinstance(submission.body, Mapping) else None
    return name if isinstance(name, str) and len(name) <= LONGEST_QUEUE else ""
