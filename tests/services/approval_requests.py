"""Requests for approval, as tests make them."""

from typing import Any

from orders.models import (
    ApprovalRequest,
)
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approvals
from orders.vocabulary import ApprovalAct

BOB, ANN, EVE = (Actor(name=name, ip_address="192.0.2.9") for name in ("bob", "ann", "eve"))
DONE, ALREADY, REFUSED = ResultStatus.DONE, ResultStatus.ALREADY, ResultStatus.REFUSED


def asked(act: ApprovalAct, parameters: dict[str, Any], **more: Any) -> ApprovalRequest:
    answer = approvals.ask(
        **{"act": act, "parameters": parameters, "actor": BOB, "reason": "I looked"} | more
    )
    assert answer.request is not None, answer.result
    return answer.request


def now_of(request: ApprovalRequest) -> ApprovalRequest:
    return ApprovalRequest.objects.get(pk=request.pk)
