"""Answers to steps that wait: a person's decision, an outside event, and what a remote service answers later.

An answer is a reply to the step's present attempt. Its order is locked while it is posted, so it either comes in time,
and then counts, or is refused: nobody can take a default, cancel the order or answer in between. The step keeps no
complete-by from then on, so no second answer is taken, and no supervisor ends the wait.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from structlog.contextvars import bind_contextvars

from orders.business import editing
from orders.engine import state_store
from orders.engine.callbacks import read_token
from orders.engine.channels import replies
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.errors import SaswebError
from orders.engine.results import find_gaps, say_gaps, types_of
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.sql import database_now
from orders.engine.runtime.text import keepable, short_code, strict_json
from orders.engine.state_store.writes import StepWrite
from orders.services.order_lock import NoSuchOrderError, lock_order
from orders.vocabulary import Goal, ReplyOutcome, StepStatus, WaitKind

LARGEST_RESULT = 100_000
"""Characters of a result as JSON."""
LONGEST_NOTE = 2_000
"""Characters of what a person or a remote service says about it."""
LONGEST_NAME = 120
"""Characters of the name of who answers."""


class AnswerError(SaswebError):
    """Raised when an answer is not taken. Nothing was changed, and its text says why in a sentence."""


class NothingWaitsError(AnswerError):
    """Raised when no step waits for such an answer."""


class AlreadyAnsweredError(NothingWaitsError):
    """Raised when the answer has been given before. The first one counts."""


class TooLateError(AnswerError):
    """Raised when the time for the answer is over, or what it answers is no longer asked."""


class BadAnswerError(AnswerError):
    """Raised when the answer itself cannot be taken. `where` names the part of it that is wrong; empty: the whole."""

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(message)
        self.where = where


class IncompleteResultError(BadAnswerError):
    """Raised when a result lacks what the step declares. `gaps` says of each such field what is wrong with it."""

    def __init__(self, gaps: Mapping[str, str]) -> None:
        super().__init__(f"The result is incomplete: {say_gaps(gaps)}.")
        self.gaps = gaps


class AnswerTooLargeError(BadAnswerError):
    """Raised when there is too much of it."""


def decide(*, order_id: UUID, step: str, choice: str, by: str, note: str = "") -> None:
    """Takes a person's decision, one of the choices that the step gives.

    Raises `NoSuchOrderError` and `AnswerError`.
    """
    if len(note) > LONGEST_NOTE:
        raise AnswerTooLargeError(f"The note is longer than {LONGEST_NOTE:,} characters.")
    with transaction.atomic():
        _, awaiting = _awaiting(order_id, step, WaitKind.DECISION)
        choices = (awaiting.awaits or {})["choices"]
        if choice not in choices:
            raise BadAnswerError(
                f"{choice!r} is not one of the choices: {', '.join(choices)}.", where="choice"
            )
        result = {"choice": choice, "by": keepable(by), "note": keepable(note)}
        _post(awaiting, ReplyOutcome.DONE, _json(result), by)


def answer_event(*, order_id: UUID, step: str, result: Mapping[str, Any], by: str) -> None:
    """Takes what came with an outside event, a JSON object, which has the name of the step that waits for it.

    Raises `NoSuchOrderError` and `AnswerError`.
    """
    text = _json(result)
    with transaction.atomic():
        row, awaiting = _awaiting(order_id, step, WaitKind.EVENT)
        _check_result(row, step, result)
        _post(awaiting, ReplyOutcome.DONE, text, by)


def answer_wait(
    *, order_id: UUID, step: str, awaits: Mapping[str, Any] | None, result: Mapping[str, Any], by: str
) -> None:
    """Takes what the step waits for, as its row says: a decision, or what came with an outside event.

    A decision is `{"choice": …}`, with a `note` if there is one. Raises `NoSuchOrderError` and `AnswerError`.
    """
    if (awaits or {}).get("kind") != WaitKind.DECISION:
        answer_event(order_id=order_id, step=step, result=result, by=by)
        return
    choice, note = str(result.get("choice", "")), str(result.get("note", ""))
    decide(order_id=order_id, step=step, choice=choice, note=note, by=by)


def answer_callback(
    *, token: str, result: Mapping[str, Any] | None = None, error: tuple[str, str] | None = None
) -> None:
    """Takes what a remote service answers later: a `result`, or an `error` with its code and message, which refuses.

    The token is what the agent has given it (`Request.callback_token`). Raises `AnswerError`.
    """
    if (result is None) == (error is None):
        raise BadAnswerError("An answer has either a result or an error.")
    text = _json(result) if error is None else _error_json(*error)
    call = read_token(token)
    if call is None:
        raise NothingWaitsError("This is no token of ours.")
    key, effect = call
    # Until the request ends, so that the line of an error has it, too.
    bind_contextvars(order_id=str(effect.order_id))
    with transaction.atomic():
        try:
            row, steps = lock_order(effect.order_id)
        except NoSuchOrderError as gone:
            raise TooLateError("The order of this call is not under way any more.") from gone
        target = _called(row, steps, key, effect.step, compensates=effect.compensates)
        if result is not None and not effect.compensates:
            _check_result(row, effect.step, result)
        outcome = ReplyOutcome.DONE if error is None else ReplyOutcome.REFUSED
        _post(target, outcome, text, "callback", compensates=effect.compensates)


def _awaiting(order_id: UUID, name: str, kind: WaitKind) -> tuple[ProcessRow, StepRow]:
    """Locks the order, and returns it with its step that waits for an answer of this kind, if that may still come."""
    row, steps = lock_order(order_id)
    target = next((step for step in steps if step.name == name), None)
    what = "a decision" if kind is WaitKind.DECISION else "an outside event"
    if target is None or (target.awaits or {}).get("kind") != kind:
        raise NothingWaitsError(f"No step {name!r} of this order waits for {what}.")
    if row.goal == Goal.COMPENSATE:
        raise TooLateError("The order is being cancelled, so nothing is waited for any more.")
    if target.state == StepStatus.COMPLETED:
        raise AlreadyAnsweredError(f"Step {name} is completed already.")
    if target.state != StepStatus.AWAITING:
        raise TooLateError(f"Step {name} does not wait any more.")
    _check_time(target)
    return row, target


def _called(row: ProcessRow, steps: list[StepRow], key: str, name: str, *, compensates: bool) -> StepRow:
    """The step whose call with this key still expects its answer."""
    target = next((step for step in steps if step.name == name), None)
    if target is None:
        raise NothingWaitsError(f"The order has no step {name!r}.")
    present = target.compensation_key() if compensates else target.key()
    if present != key or compensates != target.is_backward:
        raise TooLateError(f"This call of {name} is not expected to be answered any more.")
    if not compensates and row.goal == Goal.COMPENSATE and target.state == StepStatus.AWAITING:
        raise TooLateError("The order is being cancelled, so nothing is waited for any more.")
    if target.state in (StepStatus.COMPLETED, StepStatus.COMPENSATED):
        raise AlreadyAnsweredError(f"Step {name} has been answered already.")
    if target.state not in (StepStatus.AWAITING, StepStatus.RUNNING, StepStatus.COMPENSATING):
        raise TooLateError(f"Step {name} does not wait any more.")
    if (target.awaits or {}).get("answered") == target.attempt:
        raise AlreadyAnsweredError(f"Step {name} has been answered already.")
    _check_time(target)
    return target


def _check_result(row: ProcessRow, step: str, result: Mapping[str, Any]) -> None:
    fields = editing.result_fields(row.workflow, row.version, step)
    if gaps := find_gaps(result, types_of(fields)):
        raise IncompleteResultError(gaps)


def _check_time(step: StepRow) -> None:
    if step.complete_by is None:
        if step.state == StepStatus.AWAITING:
            raise AlreadyAnsweredError(f"Step {step.name} has been answered already.")
        raise TooLateError(f"Step {step.name} does not wait any more.")
    if step.complete_by <= database_now():
        raise TooLateError(f"The time for the answer to {step.name} is over.")


def _post(step: StepRow, outcome: ReplyOutcome, body: str, by: str, *, compensates: bool = False) -> None:
    if not by.strip() or len(by) > LONGEST_NAME:
        raise BadAnswerError(f"Say in at most {LONGEST_NAME} characters who answers.")
    replies.post_from_outside(step, compensates=compensates, outcome=outcome, body=body, by=keepable(by))
    # An attempt that is still under way has its agent's time. What is parked has none to keep any more, and its agent
    # is not to ask again: a scheduler that has looked for replies before this one may turn to the order after it.
    answered = (
        step._replace(complete_by=None, not_before=None)
        if step.state == StepStatus.AWAITING
        else step._replace(awaits={**(step.awaits or {}), "answered": step.attempt})
    )
    state_store.write_steps([StepWrite(answered, step.attempt, before=step)])
    wake(Topic.SCHEDULER, Topic.PROGRESS)


def _json(result: Any) -> str:
    if not isinstance(result, Mapping):
        raise BadAnswerError("A result is a JSON object.", where="result")
    try:
        text = strict_json(dict(result))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadAnswerError(f"The result cannot be stored: {error}.", where="result") from error
    if len(text) > LARGEST_RESULT:
        raise AnswerTooLargeError(f"The result has more than {LARGEST_RESULT:,} characters.")
    return text


def _error_json(code: str, message: str) -> str:
    return strict_json({"code": short_code(code), "message": keepable(message)[:LONGEST_NOTE]})
