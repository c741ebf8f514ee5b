"""Which requests for approval cannot wait at once, because an admin who approves both would do and undo one thing, or
do one thing twice.

Each act comes with its parameters, as `ApprovalRequest` keeps them.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q

from orders.models import ApprovalRequest
from orders.services.operators.approval_acts import COMPENSATED
from orders.vocabulary import ApprovalAct, ApprovalState

CIRCUITS = frozenset({ApprovalAct.FORCE_CIRCUIT, ApprovalAct.UNFORCE_CIRCUIT})
CANCELS = frozenset({ApprovalAct.COMPENSATE, ApprovalAct.DECIDE, ApprovalAct.BULK})
"""The acts that cancel orders: a decision needs approval only if it does."""


def opposite_request(
    act: ApprovalAct, parameters: Mapping[str, Any], *, at: datetime
) -> ApprovalRequest | None:
    """The oldest request that waits at this time and is opposed to an act. One query."""
    waiting = ApprovalRequest.objects.filter(state=ApprovalState.WAITING, expires_at__gt=at)
    if act in CIRCUITS:
        same_subject = Q(act__in=CIRCUITS, parameters__agent=parameters["agent"])
    elif act is ApprovalAct.PAUSE_INTAKE:
        same_subject = Q(act=act)
    else:
        orders = list(parameters["orders"] if act is ApprovalAct.BULK else [parameters["order_id"]])
        in_bulk = Q(act=ApprovalAct.BULK, parameters__orders__has_any_keys=orders)
        same_subject = Q(order_id__in=orders) | in_bulk
    requests = waiting.filter(same_subject).order_by("id")
    return next((each for each in requests if are_opposed(act, parameters, each.act, each.parameters)), None)


def are_opposed(act: str, parameters: Mapping[str, Any], other: str, others: Mapping[str, Any]) -> bool:
    """Whether two acts about the same order, the same agent's circuit, or the intake cannot wait at once.

    Steps are settled beside each other, and a customer can be erased whatever becomes of an order.
    """
    if act in CIRCUITS and other in CIRCUITS:
        return True
    if act == other == ApprovalAct.PAUSE_INTAKE:
        return True
    if act in CANCELS and other in CANCELS:
        return True
    settlements = [each for name, each in ((act, parameters), (other, others)) if name == ApprovalAct.SETTLE]
    if len(settlements) == 2:
        return bool(parameters["step"] == others["step"])
    is_cancelled = act in CANCELS or other in CANCELS
    return is_cancelled and any(each["outcome"] != COMPENSATED for each in settlements)
