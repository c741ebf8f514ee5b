"""The operators' REST API of approvals: asking for an act, and answering that."""

from typing import Any, ClassVar
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orders.access.levels import ADMINISTER
from orders.api import operator_approval_documentation as documentation
from orders.api import operator_approval_representations as representations
from orders.api.fields import Strict
from orders.api.operator_approval_requests import ApprovalIn, ApprovalNoteIn, ApprovalQuery, read_act
from orders.api.operator_bulk_views import BulkView, action_fields
from orders.api.operator_order_requests import DONE
from orders.api.operator_problems import no_such_agent, no_such_step, refusal
from orders.api.operator_requests import ActIn
from orders.api.operator_views import ActView, OperatorView, actor, problem_of_missing
from orders.api.paging import read_query, render_page
from orders.api.scopes import require
from orders.fields.numbers import LARGEST_ID
from orders.selectors.database_clock import now
from orders.selectors.desk.agents import agent_exists
from orders.selectors.desk.approvals import approval_page, find_approval
from orders.selectors.desk.step_names import lacks_step
from orders.services.operators import approvals
from orders.services.operators.approval_acts import bulk_parameters, pause_parameters
from orders.services.order_lock import NoSuchOrderError
from orders.vocabulary import ApprovalAct, TokenScope

COSTLY = frozenset({ApprovalAct.COMPENSATE, ApprovalAct.DECIDE, ApprovalAct.BULK})
"""The acts that themselves need the scope of a compensation."""


class Approvals(BulkView):
    """The requests for approval, and a new one."""

    @extend_schema(**documentation.LIST_APPROVALS)
    def get(self, request: Request) -> Response:
        query = read_query(ApprovalQuery, request)
        page = approval_page(
            state=query["state"], before=query["cursor"], now=now(), limit=query["page_size"]
        )
        return render_page(representations.ApprovalPageOut, request, page, key=lambda row: row.id)

    @extend_schema(**documentation.ASK)
    def post(self, request: Request) -> Response:
        values = ApprovalIn.read(request.data)
        act, body = ApprovalAct(values["act"]), read_act(values)
        with self._recorded(request, {}):
            if act in COSTLY:
                require(request, TokenScope.COMPENSATE)
        target = _target(values)
        with self.recorded(request, {}):
            asking = _ask(request, act, target, body)
        if asking.request is None:
            raise refusal(asking.result, place="/body")
        response = Response(
            representations.ApprovalOut.render(find_approval(asking.request.pk, now=now())), status=202
        )
        response["Location"] = reverse("api:approval", args=[asking.request.pk])
        return response


def _target(values: dict[str, Any]) -> dict[str, Any]:
    """What the act is about, as the services name it. Raises `ProblemError`."""
    target: dict[str, Any] = {name: values[name] for name in ("step", "agent") if name in values}
    if "order" in values:
        target["order_id"] = values["order"]
    if "agent" in target and not agent_exists(target["agent"]):
        raise no_such_agent(target["agent"])
    if "step" in target and lacks_step(UUID(target["order_id"]), target["step"]):
        raise no_such_step(UUID(target["order_id"]), target["step"])
    return target


def _ask(
    request: Request, act: ApprovalAct, target: dict[str, Any], body: dict[str, Any]
) -> approvals.Asking:
    reason, typed = body.pop("reason", body.pop("note", "")), body.pop("typed", None)
    if act is ApprovalAct.BULK:
        parameters, typed = bulk_parameters(**action_fields(request, body)), body.get("count", 0)
    elif act is ApprovalAct.PAUSE_INTAKE:
        parameters = pause_parameters(until=body.get("until"))
    else:
        parameters = target | body
    if act is ApprovalAct.SETTLE:
        parameters["result"] = body.get("result") or {} if body["outcome"] == DONE else {}
    try:
        return approvals.ask(act=act, parameters=parameters, actor=actor(request), reason=reason, typed=typed)
    except NoSuchOrderError as error:
        raise problem_of_missing({"order_id": UUID(target["order_id"])}) from error


class ApprovalDetail(OperatorView):
    """One request for approval."""

    @extend_schema(**documentation.GET_APPROVAL)
    def get(self, request: Request, request_id: int) -> Response:
        row = find_approval(min(request_id, LARGEST_ID), now=now())
        if row is None:
            raise NotFound
        return Response(representations.ApprovalOut.render(row))


class ApprovalAnswer(ActView):
    """An answer to a request for approval."""

    body: ClassVar[type[Strict]] = ApprovalNoteIn

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        number = min(url["request_id"], LARGEST_ID)
        if find_approval(number, now=now()) is None:
            raise NotFound
        return {"request_id": number}


@extend_schema_view(post=extend_schema(**documentation.APPROVE))
class ApprovalApproval(ApprovalAnswer):
    """Approves a request."""

    scope = TokenScope.COMPENSATE
    permission = ADMINISTER
    body = ActIn
    act = staticmethod(approvals.approve)


@extend_schema_view(post=extend_schema(**documentation.DECLINE))
class ApprovalRefusal(ApprovalAnswer):
    """Declines a request."""

    permission = ADMINISTER
    act = staticmethod(approvals.decline)


@extend_schema_view(post=extend_schema(**documentation.WITHDRAW))
class ApprovalWithdrawal(ApprovalAnswer):
    """Withdraws a request."""

    act = staticmethod(approvals.withdraw)
