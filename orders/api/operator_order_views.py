"""The operators' acts on one order, and on what was set aside before it became one."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound

from orders.access.levels import ADMINISTER
from orders.api import operator_order_documentation as documentation
from orders.api.operator_order_edit_views import edit_step
from orders.api.operator_order_requests import (
    COMPENSATED,
    DONE,
    EditIn,
    ErasureIn,
    PauseIn,
    PriorityIn,
    RetryIn,
    SettlementIn,
)
from orders.api.operator_problems import no_such_step
from orders.api.operator_requests import NoteIn
from orders.api.operator_views import ActView
from orders.api.problems import ProblemError
from orders.fields.numbers import LARGEST_ID
from orders.selectors.desk.set_aside import was_set_aside
from orders.selectors.desk.step_names import lacks_step
from orders.services.act_results import Result
from orders.services.operators import order_acts, order_erasure, order_notes, pausing_orders, settling
from orders.vocabulary import TokenScope


@extend_schema_view(post=extend_schema(**documentation.RESUBMIT_ORDER))
class OrderResubmission(ActView):
    """Resubmits an order: all of its failed steps."""

    act = staticmethod(order_acts.resubmit)


def _retry(*, order_id: UUID, step: str | None = None, **act: Any) -> Result:
    if step is not None and lacks_step(order_id, step):
        raise ProblemError("not_found", "The order has no step of this name.")
    return order_acts.retry_now(order_id=order_id, step=step, **act)


@extend_schema_view(post=extend_schema(**documentation.RETRY_ORDER))
class OrderRetry(ActView):
    """Retries at once what waits for its next try."""

    body = RetryIn
    act = staticmethod(_retry)


@extend_schema_view(post=extend_schema(**documentation.PAUSE_ORDER))
class OrderPause(ActView):
    """Pauses an order."""

    body = PauseIn
    act = staticmethod(pausing_orders.pause_order)


@extend_schema_view(post=extend_schema(**documentation.RESUME_ORDER))
class OrderResume(ActView):
    """Resumes a paused order."""

    act = staticmethod(pausing_orders.resume_order)


@extend_schema_view(post=extend_schema(**documentation.SET_PRIORITY))
class OrderPriority(ActView):
    """Sets an order's priority."""

    body = PriorityIn
    act = staticmethod(order_acts.set_priority)


@extend_schema_view(post=extend_schema(**documentation.ADD_NOTE))
class OrderNotes(ActView):
    """Adds a note to an order."""

    body = NoteIn
    act = staticmethod(order_notes.add_note)


@extend_schema_view(post=extend_schema(**documentation.ERASE_CUSTOMER))
class OrderErasure(ActView):
    """Erases everything about an order's customer."""

    scope = TokenScope.COMPENSATE
    permission = ADMINISTER
    body = ErasureIn
    act = staticmethod(order_erasure.erase_customer_of)


class NamedStepAct(ActView):
    """An act on a step that its URL names."""

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        if lacks_step(url["order_id"], url["step"]):
            raise no_such_step(url["order_id"], url["step"])
        return url


@extend_schema_view(post=extend_schema(**documentation.EDIT_STEP))
class StepEdit(NamedStepAct):
    """Edits what a failed step asks for, and resubmits it."""

    body = EditIn
    act = staticmethod(edit_step)


def _settle(*, outcome: str, result: Any = None, **act: Any) -> Result:
    if outcome == DONE:
        return settling.settle_done(result=result or {}, **act)
    settle = settling.settle_compensated if outcome == COMPENSATED else settling.settle_not_done
    return settle(**act)


@extend_schema_view(post=extend_schema(**documentation.SETTLE_STEP))
class StepSettlement(NamedStepAct):
    """Settles a step by hand."""

    scope = TokenScope.COMPENSATE
    permission = ADMINISTER
    body = SettlementIn
    act = staticmethod(_settle)


@extend_schema_view(post=extend_schema(**documentation.REPLAY_SUBMISSION))
class SubmissionReplay(ActView):
    """Puts a submission that was set aside back on the queue."""

    act = staticmethod(order_acts.replay_set_aside)

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        number = min(url["number"], LARGEST_ID)
        if not was_set_aside(number):
            raise NotFound
        return {"set_aside_id": number}
