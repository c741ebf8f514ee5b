"""The operators' REST API. A token may do what its scopes, and its account in the console, allow. Refused acts are
recorded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from structlog.contextvars import bind_contextvars

from orders.access.levels import ADMINISTER, OPERATE, VIEW
from orders.api import operator_documentation
from orders.api import operator_representations as representations
from orders.api.fields import Strict
from orders.api.operator_problems import busy_problem, count_problem, no_such_agent, refusal
from orders.api.operator_requests import (
    CompensationIn,
    DecisionIn,
    EventIn,
    GroupResubmissionIn,
    NeededReasonIn,
    ReasonIn,
)
from orders.api.paging import AlertGroupQuery, AlertQuery, DecisionQuery, read_query, render_page
from orders.api.problems import ProblemError
from orders.api.scopes import MayUseScope, MissingScopeError, require
from orders.fields.numbers import LARGEST_ID
from orders.selectors.database_clock import now
from orders.selectors.desk.agents import agent_exists
from orders.selectors.desk.alert_groups import find_group, group_page
from orders.selectors.desk.alerts import open_alerts, orders_of_group
from orders.selectors.desk.bulk import find_action
from orders.selectors.desk.decisions import has_order_compensated, open_decisions
from orders.selectors.desk.order_rows import find_step
from orders.selectors.orders import order_exists
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.operators import agents as agent_services
from orders.services.operators import bulk as bulk_services
from orders.services.operators import deciding, order_acts
from orders.services.order_lock import NoSuchOrderError
from orders.vocabulary import BulkKind, TokenScope

ADMINS = "An admin does this. Where it can be asked for, ask with `POST /api/v1/approvals`."

NO_SUCH_STEP = (
    "There is no step with this ID. `GET /api/v1/orders/{id}/details` has those of an order’s steps."
)


class OperatorView(APIView):
    """A view for tokens whose account may view the console or, to change something, operate it."""

    permission_classes = (IsAuthenticated,)
    scope = TokenScope.OPERATE
    permission: ClassVar[str] = OPERATE
    """What the account must be permitted to act."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Checks the account's access level and then the token's scope, and records a refused act."""
        super().initial(request, *args, **kwargs)
        needed = self.permission if request.method == "POST" else VIEW
        if not request.user.has_perm(needed):
            self._record_refusal(request, kwargs, why=f"needs {needed}")
            if needed == ADMINISTER and request.user.has_perm(OPERATE):
                raise ProblemError("permission_denied", ADMINS)
            self.permission_denied(request)
        with self._recorded(request, kwargs):
            MayUseScope().has_permission(request, self)

    @contextmanager
    def _recorded(self, request: Request, kwargs: dict[str, Any]) -> Iterator[None]:
        try:
            yield
        except MissingScopeError as error:
            self._record_refusal(request, kwargs, why=f"needs a token with the scope {error.needed}")
            raise

    def _record_refusal(self, request: Request, kwargs: dict[str, Any], *, why: str) -> None:
        if request.method != "POST":
            return
        match = request.resolver_match
        audit.record_refusal(
            actor=actor(request),
            url_name=match.url_name if match and match.url_name else "unknown",
            parameters=_about(kwargs),
            path=request.path,
            why=why,
        )


actor = audit.actor_of
"""The account that makes the request."""


class Alerts(OperatorView):
    """Open alerts."""

    @extend_schema(**operator_documentation.LIST_ALERTS)
    def get(self, request: Request) -> Response:
        query = read_query(AlertQuery, request)
        page = open_alerts(
            group=query["group"],
            kind=query["kind"],
            agent=query["agent"],
            subject=query["subject"],
            code=query["code"],
            before=query["cursor"],
            limit=query["page_size"],
        )
        return render_page(representations.AlertPageOut, request, page, key=lambda row: row.alert.pk)


class AlertGroups(OperatorView):
    """Open alerts by cause."""

    @extend_schema(**operator_documentation.LIST_GROUPS)
    def get(self, request: Request) -> Response:
        query = read_query(AlertGroupQuery, request)
        page = group_page(
            before=query["cursor"],
            limit=query["page_size"],
            now=now(),
            kind=query["kind"],
            agent=query["agent"],
            code=query["code"],
            acknowledged=query["acknowledged"],
            owner=query["owner"],
            snoozed=query["snoozed"],
        )
        return render_page(representations.AlertGroupPageOut, request, page, key=lambda row: row.group.pk)


class GroupResubmission(OperatorView):
    """Resubmits every order in an alert group."""

    scope = TokenScope.COMPENSATE

    @extend_schema(**operator_documentation.RESUBMIT_GROUP)
    def post(self, request: Request, group_id: int) -> Response:
        values = GroupResubmissionIn.read(request.data)
        group = group_of(group_id)
        try:
            action = bulk_services.create(
                kind=BulkKind.RESUBMIT,
                order_ids=orders_of_group(group.pk, most=bulk_services.MOST + 1),
                selection=str(group),
                actor=actor(request),
                reason=values["reason"],
                group=group,
                typed_count=values.get("count"),
                leave_out_busy=values["leave_out_busy"],
            )
        except bulk_services.BusyOrdersError as error:
            raise busy_problem(error) from error
        except bulk_services.CountMismatchError as error:
            raise count_problem(error) from error
        except (bulk_services.NothingToDoError, bulk_services.TooManyError) as error:
            raise ProblemError("act_refused", str(error)) from error
        return action_created(action)


class BulkActionDetail(OperatorView):
    """One bulk action."""

    @extend_schema(**operator_documentation.GET_ACTION)
    def get(self, request: Request, action_id: int) -> Response:
        return render_action(min(action_id, LARGEST_ID), status=200)


class ActView(OperatorView):
    """One act. `body` is what the client sends; `act` is the service, which may raise `NoSuchOrderError`."""

    body: ClassVar[type[Strict]] = ReasonIn
    act: ClassVar[Callable[..., Result]]

    def post(self, request: Request, **url: Any) -> Response:
        values = self.body.read(request.data)
        target = self.find_target(url)
        if "order_id" in target:  # of a step, say
            bind_contextvars(order_id=str(target["order_id"]))
        with self._recorded(request, url):
            self.check_scope(request, target, values)
        try:
            result = self.act(actor=actor(request), **target, **values)
        except NoSuchOrderError as error:
            raise problem_of_missing(target) from error
        if result.status is ResultStatus.REFUSED:
            raise refusal(result)
        return Response(
            representations.ResultOut.render({"result": result.status.value, "message": result.message})
        )

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        """What the URL identifies, as the act's arguments name it. Raises `NotFound`."""
        return url

    def check_scope(self, request: Request, target: dict[str, Any], values: dict[str, Any]) -> None:
        """Raises `MissingScopeError` if what is asked for needs a scope beyond that of the view."""


def problem_of_missing(target: dict[str, Any]) -> Exception:
    """What is wrong with an act on an order that is not in the state store."""
    if "order_id" in target and order_exists(target["order_id"]):
        detail = "The order is not under way: it is still to be received, was set aside, or is archived."
        return ProblemError("act_refused", detail)
    return NotFound()


class StepAct(ActView):
    """An act on a step of an order."""

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        step = find_step(min(url["step_id"], LARGEST_ID))
        if step is None:
            raise ProblemError("not_found", NO_SUCH_STEP)
        order_id, name = step
        return {"order_id": order_id, "step": name}


@extend_schema_view(post=extend_schema(**operator_documentation.RESUBMIT_STEP))
class StepResubmission(StepAct):
    """Resubmits a failed step."""

    act = staticmethod(order_acts.resubmit)


@extend_schema_view(post=extend_schema(**operator_documentation.SKIP_STEP))
class StepSkip(StepAct):
    """Skips a step."""

    body = NeededReasonIn
    act = staticmethod(order_acts.skip)


@extend_schema_view(post=extend_schema(**operator_documentation.COMPENSATE_ORDER))
class OrderCompensation(ActView):
    """Cancels an order."""

    scope = TokenScope.COMPENSATE
    body = CompensationIn
    act = staticmethod(order_acts.compensate)


class Decisions(OperatorView):
    """What waits for a person's decision."""

    @extend_schema(**operator_documentation.LIST_DECISIONS)
    def get(self, request: Request) -> Response:
        query = read_query(DecisionQuery, request)
        page = open_decisions(
            subject=query["subject"], after=query["cursor"], limit=query["page_size"], now=now()
        )
        return render_page(representations.DecisionPageOut, request, page, key=lambda row: row.position)


@extend_schema_view(post=extend_schema(**operator_documentation.DECIDE))
class StepDecision(ActView):
    """Decides for a step. A choice that has the order compensated needs the scope of a compensation."""

    body = DecisionIn
    act = staticmethod(deciding.decide)

    def check_scope(self, request: Request, target: dict[str, Any], values: dict[str, Any]) -> None:
        if has_order_compensated(**target, choice=values["choice"]):
            require(request, TokenScope.COMPENSATE)


@extend_schema_view(post=extend_schema(**operator_documentation.REPORT_EVENT))
class StepEvent(ActView):
    """Reports the outside event that a step waits for."""

    body = EventIn
    act = staticmethod(deciding.report_event)


class AgentAct(ActView):
    """An act on an agent."""

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        if not agent_exists(url["name"]):
            raise no_such_agent(url["name"])
        return {"agent": url["name"]}


@extend_schema_view(post=extend_schema(**operator_documentation.PAUSE_AGENT))
class AgentPause(AgentAct):
    """Pauses an agent."""

    body = NeededReasonIn
    act = staticmethod(agent_services.pause_agent)


@extend_schema_view(post=extend_schema(**operator_documentation.RESUME_AGENT))
class AgentResume(AgentAct):
    """Resumes a paused agent."""

    act = staticmethod(agent_services.resume_agent)


def _about(kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a URL identifies, as the audit log names it. An act on a step counts as one on its order."""
    if "step_id" in kwargs:
        step = find_step(min(kwargs["step_id"], LARGEST_ID))
        return {"order_id": step[0]} if step else {}
    return {"agent": kwargs["name"]} if "name" in kwargs else kwargs


def group_of(group_id: int) -> Any:
    """An alert group. Raises `NotFound`."""
    group = find_group(min(group_id, LARGEST_ID))
    if group is None:
        raise NotFound
    return group


def action_created(action: Any) -> Response:
    """The response to whoever has created a bulk action, perhaps by an earlier request."""
    response = render_action(action.pk, status=202)
    response["Location"] = reverse("api:bulk-action", args=[action.pk])
    if action.is_replayed:
        response["Idempotent-Replayed"] = "true"
    return response


def render_action(action_id: int, *, status: int) -> Response:
    """A bulk action as it is now. Raises `NotFound`."""
    action = find_action(action_id, now=now())
    if action is None:
        raise NotFound
    return Response(representations.BulkActionOut.render(action), status=status)
