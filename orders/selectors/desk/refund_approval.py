"""Which refunds a second person must approve, as `APPROVE_REFUNDS_ABOVE` has it."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings

from orders.business.editing import charging_workflows
from orders.fields.money import Money
from orders.models import Order
from orders.selectors.desk.money_back import refunds_of


def is_set() -> bool:
    """Whether any refund needs approval."""
    return settings.CONFIG.approve_refunds_above is not None


def needs_approval(refund: Money) -> bool:
    """Whether a refund needs approval: it is above the sum of its currency, or its currency has none."""
    sums = settings.CONFIG.approve_refunds_above
    return sums is not None and (refund.currency not in sums or refund.amount > sums[refund.currency])


def refund_to_approve(order_id: UUID) -> Money | None:
    """What cancelling the order gives back, charged or held, if that needs approval. Two queries, or none without the
    setting."""
    refund = refund_of(order_id) if is_set() else None
    return refund if refund is not None and needs_approval(refund) else None


def refund_of(order_id: UUID) -> Money | None:
    """What cancelling the order gives back, charged or held. Two queries."""
    refund = refunds_of([order_id]).get(order_id)
    return refund.price if refund else None


def may_refund(order_ids: Sequence[UUID]) -> bool:
    """Whether cancelling these orders can give any money back, also if it is taken only before their turn comes."""
    if not charging_workflows():
        return False
    return Order.objects.filter(pk__in=order_ids, total__isnull=False).exists()
