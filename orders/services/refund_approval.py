"""Holds every refund that an operator starts to the rule that a second person approves it. See docs/adr/0058."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from orders.engine.errors import SaswebError
from orders.fields.money import Money
from orders.selectors.desk import refund_approval
from orders.selectors.desk.money_back import Cancellation, Refund, cancellation_of
from orders.services.act_results import Result, ResultStatus
from orders.vocabulary import ApprovalAct
from orders.wording.cancelling import cancel_many
from orders.wording.units import counted, english_money


@dataclass(frozen=True, kw_only=True)
class Approval:
    """An admin's approval of an act that somebody else asked for. Only `orders.services.operators.approvals` gives it.

    `refund` is what the request named as going back to the customer, if it named a sum, and `cancellation` what it
    named of many orders. With `is_of_many`, it is of an action on many, and `refund` is one order's part of that.
    """

    request: int
    asked_by: str
    refund: Money | None = None
    cancellation: Cancellation | None = None
    is_of_many: bool = False


class ApprovalNeededError(SaswebError):
    """Raised when an act needs another person's approval. `act` is what to ask for."""

    def __init__(self, message: str, *, act: ApprovalAct) -> None:
        super().__init__(message)
        self.act = act


def why_not_refund(
    order_id: UUID, *, act: ApprovalAct = ApprovalAct.COMPENSATE, approval: Approval | None = None
) -> Result | None:
    """Why an order whose row is locked may not be compensated; None if it may be."""
    if approval is not None and approval.is_of_many:
        return _why_not_in_bulk(order_id, approval.refund)
    refund = refund_approval.refund_to_approve(order_id)
    if refund is None:
        return None
    if approval is None:
        message = f"Giving {english_money(refund)} back needs an admin’s approval."
        return _refused(ApprovalNeededError(message, act=act))
    if approval.refund != refund:
        named = english_money(approval.refund) if approval.refund else "nothing"
        message = f"{english_money(refund)} would be given back now, and the request says {named}. Ask again."
        return _refused(ApprovalNeededError(message, act=act))
    return None


def _refused(error: ApprovalNeededError) -> Result:
    return Result(status=ResultStatus.REFUSED, message=str(error), cause=error)


def _why_not_in_bulk(order_id: UUID, approved: Money | None) -> Result | None:
    """Why an order may not be compensated by an action that was approved as a whole: it would give back more by now."""
    refund = refund_approval.refund_of(order_id) if refund_approval.is_set() else None
    if refund is None or (
        approved is not None and refund.currency == approved.currency and refund.amount <= approved.amount
    ):
        return None
    named = english_money(approved) if approved else "nothing"
    message = f"{english_money(refund)} would be given back now, and {named} was approved. Ask again."
    return _refused(ApprovalNeededError(message, act=ApprovalAct.BULK))


def require_approval_of_many(
    order_ids: Sequence[UUID], refunds: Mapping[UUID, Refund], approval: Approval | None
) -> None:
    """Raises `ApprovalNeededError` if a bulk action that cancels these orders needs approval, or other figures were
    approved than those that it has now."""
    if approval is None:
        if refund_approval.is_set() and refund_approval.may_refund(order_ids):
            raise ApprovalNeededError(
                (
                    f"Cancelling {counted(len(order_ids), 'order')} in bulk, which can give money back,"
                    " needs an admin’s approval."
                ),
                act=ApprovalAct.BULK,
            )
        return
    present = cancellation_of(order_ids, refunds)
    if present != approval.cancellation:
        named = _cancel(approval.cancellation) if approval.cancellation else "nothing of that"
        raise ApprovalNeededError(
            f"This would now {_lower(_cancel(present))}, and the request says: {_lower(named)}. Ask again.",
            act=ApprovalAct.BULK,
        )


def _cancel(cancellation: Cancellation) -> str:
    return cancel_many(cancellation.orders, cancellation.back)


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
