"""Holds every refund that an operator starts to the rule that a second person approves it. See docs/adr/0058."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from orders.engine.errors import SaswebError
from orders.fields.money import Money
from orders.selectors.desk import refund_approval
from orders.services.act_results import Result, ResultStatus
from orders.vocabulary import ApprovalAct
from orders.wording.units import ENGLISH, counted, money


@dataclass(frozen=True, kw_only=True)
class Approval:
    """An admin's approval of an act that somebody else asked for. Only `orders.services.operators.approvals` gives it.

    `refund` is what the request named as going back to the customer, if it named a sum.
    """

    request: int
    asked_by: str
    refund: Money | None = None


class ApprovalNeededError(SaswebError):
    """Raised when an act needs another person's approval. `act` is what to ask for."""

    def __init__(self, message: str, *, act: ApprovalAct) -> None:
        super().__init__(message)
        self.act = act


def why_not_refund(
    order_id: UUID, *, act: ApprovalAct = ApprovalAct.COMPENSATE, approval: Approval | None = None
) -> Result | None:
    """Why an order whose row is locked may not be compensated; None if it may be."""
    refund = refund_approval.refund_to_approve(order_id)
    if refund is None:
        return None
    if approval is None:
        message = f"A refund of {money(refund, locale=ENGLISH)} needs an admin's approval."
        return _refused(ApprovalNeededError(message, act=act))
    if approval.refund != refund:
        named = money(approval.refund, locale=ENGLISH) if approval.refund else "no refund"
        message = (
            f"{money(refund, locale=ENGLISH)} would be refunded now, and the request says {named}. Ask again."
        )
        return _refused(ApprovalNeededError(message, act=act))
    return None


def _refused(error: ApprovalNeededError) -> Result:
    return Result(status=ResultStatus.REFUSED, message=str(error), cause=error)


def require_approval_of_many(order_ids: Sequence[UUID]) -> None:
    """Raises `ApprovalNeededError` if a bulk action that cancels these orders needs approval."""
    if refund_approval.is_set() and refund_approval.may_refund(order_ids):
        raise ApprovalNeededError(
            f"Cancelling {counted(len(order_ids), 'order')} in bulk, with refunds, needs an admin's approval.",
            act=ApprovalAct.BULK,
        )
