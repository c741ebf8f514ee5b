"""What operators answer to steps that wait: a person's decision, or an outside event that somebody reports.

The first answer counts, whoever gives it, and each one is recorded in the audit log. A choice that has the order
compensated is confirmed as a compensation is.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from orders.business import editing
from orders.engine.rows import ProcessRow, StepRow
from orders.selectors.desk.confirmation import confirmation, confirms
from orders.services import answers
from orders.services.act_results import Result, ResultStatus
from orders.services.answers import AnswerError
from orders.services.audit import Actor
from orders.services.operators.acts import act_on, done, find_step, refused
from orders.services.operators.order_acts import unconfirmed
from orders.services.refund_approval import Approval, why_not_refund
from orders.vocabulary import ApprovalAct, WaitKind
from orders.wording.cancelling import cancel_words


def decide(
    *,
    order_id: UUID,
    step: str,
    choice: str,
    actor: Actor,
    note: str = "",
    typed: str | None = "",
    approval: Approval | None = None,
) -> Result:
    """Takes a choice of a step that waits for a decision. Raises `NoSuchOrderError`.

    A choice that has the order compensated needs a note, and what `orders.selectors.desk.confirmation` asks for as
    `typed`, which is None only where the request that was approved has confirmed it. Its refund may need an `approval`.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        declared, target = editing.decision(row.workflow, row.version, step), find_step(steps, step)
        if declared is None and target is not None and (target.awaits or {}).get("kind") == WaitKind.DECISION:
            return refused(f"This release has no decision {step} in {row.workflow}, version {row.version}.")
        compensates = declared is not None and choice in declared.compensates
        if not compensates:
            answers.decide(order_id=order_id, step=step, choice=choice, by=actor.name, note=note)
            return done(f"Decided {step}: {choice}.")
        words = cancel_words(confirmation(order_id).back)
        if not note.strip():
            return refused(f"Say why. {choice} has the order {words.state}.")
        if not (typed is None and approval) and not confirms(typed or "", order_id):
            return unconfirmed()
        if refusal := why_not_refund(order_id, act=ApprovalAct.DECIDE, approval=approval):
            return refusal
        answers.decide(order_id=order_id, step=step, choice=choice, by=actor.name, note=note)
        return done(f"Decided {step}: {choice}. The order will be {words.state}.")

    return act_on("decide", _refusing(work), order_id=order_id, actor=actor, reason=note, step=step)


def report_event(*, order_id: UUID, step: str, result: Mapping[str, Any], actor: Actor) -> Result:
    """Reports the outside event that a step waits for, with what came with it. Raises `NoSuchOrderError`."""

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        answers.answer_event(order_id=order_id, step=step, result=result, by=actor.name)
        return done(f"Reported {step}.")

    return act_on("report event", _refusing(work), order_id=order_id, actor=actor, step=step)


def _refusing(
    work: Callable[[ProcessRow, list[StepRow]], Result],
) -> Callable[[ProcessRow, list[StepRow]], Result]:
    """The same work, which returns why an answer was not taken."""

    def attempt(row: ProcessRow, steps: list[StepRow]) -> Result:
        try:
            return work(row, steps)
        except AnswerError as error:
            return Result(status=ResultStatus.REFUSED, message=str(error), cause=error)

    return attempt
