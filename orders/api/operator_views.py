"""The operators' REST API. A token may do what its account may do in the console; what is refused is written down."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.access.levels import OPERATE, VIEW
from orders.api import operator_documentation as documented
from orders.api import operator_representations as out
from orders.api.paging import LARGEST_ID, Query
from orders.api.problems import ProblemError
from orders.selectors.clock import now
from orders.selectors.desk.agents import agent_exists
from orders.selectors.desk.alert_groups import find_group, group_page
from orders.selectors.desk.alerts import open_alerts, orders_of_group
from orders.selectors.desk.bulk import find_action
from orders.selectors.desk.order_rows import find_step
from orders.services import audit
from orders.services.operators import agents as agent_services
from orders.services.operators import bulk as bulk_services
from orders.services.operators import orders as operator_services
from orders.services.order_lock import NoSuchOrderError
from orders.services.results import Result, ResultStatus
from orders.vocabulary import AlertKind, BulkKind


class OperatorView(APIView):
    """A view for tokens whose account may look at the console, and to change something may operate it."""

    permission_classes = (IsAuthenticated,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuses who has no right, and writes down who wanted to act."""
        super().initial(request, *args, **kwargs)
        needed = OPERATE if request.method == "POST" else VIEW
        if request.user.has_perm(needed):
            return
        if request.method == "POST":
            match = request.resolver_match
            audit.record_refusal(
                actor=actor(request),
                url_name=match.url_name if match and match.url_name else "unknown",
                parameters=_about(kwargs),
                path=request.path,
                why=f"needs {needed}",
            )
        self.permission_denied(request)


def actor(request: Request) -> audit.Actor:
    """Who asks."""
    return audit.Actor(
        name=request.user.get_username()[:120], ip_address=request.META.get("REMOTE_ADDR", "")[:45]
    )


class Alerts(OperatorView):
    """Open alerts."""

    @extend_schema(**documented.LIST_ALERTS)
    def get(self, request: Request) -> Response:
        query = Query(request, "group", "kind", "agent", "cursor", "page_size")
        page = open_alerts(
            group=_number(query, "group"),
            kind=query.choice("kind", [kind.value for kind in AlertKind]),
            agent=query.text("agent"),
            before=_number(query, "cursor"),
            limit=query.limit(),
        )
        following = query.next_page(page, "cursor", page.items[-1].alert.pk if page.items else "")
        return Response(out.AlertPageOut({"results": page.items, "next": following}).data)


class AlertGroups(OperatorView):
    """Open alerts by cause."""

    @extend_schema(**documented.LIST_GROUPS)
    def get(self, request: Request) -> Response:
        query = Query(request, "cursor", "page_size")
        page = group_page(before=_number(query, "cursor"), limit=query.limit(), now=now())
        following = query.next_page(page, "cursor", page.items[-1].group.pk if page.items else "")
        return Response(out.AlertGroupPageOut({"results": page.items, "next": following}).data)


class GroupResubmission(OperatorView):
    """Resubmitting every order of a group."""

    @extend_schema(**documented.RESUBMIT_GROUP)
    def post(self, request: Request, group_id: int) -> Response:
        asked = out.read(out.GroupResubmissionIn, request.data)
        group = find_group(min(group_id, LARGEST_ID))
        if group is None:
            raise NotFound
        try:
            action = bulk_services.create(
                kind=BulkKind.RESUBMIT,
                order_ids=orders_of_group(group.pk, most=bulk_services.MOST + 1),
                what=str(group),
                actor=actor(request),
                reason=asked["reason"],
                group=group,
                typed_count=asked.get("count"),
            )
        except bulk_services.CountMismatchError as error:
            detail = f"This is about {error.count} orders: send `count` {error.count} to confirm it."
            raise ProblemError("count_not_confirmed", detail) from error
        except (bulk_services.NothingToDoError, bulk_services.TooManyError) as error:
            raise ProblemError("act_refused", str(error)) from error
        response = _render_action(action.pk, status=202)
        response["Location"] = reverse("api:bulk-action", args=[action.pk])
        return response


class BulkActionDetail(OperatorView):
    """One bulk action."""

    @extend_schema(**documented.GET_ACTION)
    def get(self, request: Request, action_id: int) -> Response:
        return _render_action(min(action_id, LARGEST_ID), status=200)


class StepResubmission(OperatorView):
    """Having a failed step tried again."""

    @extend_schema(**documented.RESUBMIT_STEP)
    def post(self, request: Request, step_id: int) -> Response:
        asked = out.read(out.ReasonIn, request.data)
        order_id, name = _step(step_id)
        return _act(
            lambda: operator_services.resubmit_now(
                order_id=order_id, step=name, actor=actor(request), reason=asked["reason"]
            )
        )


class StepSkip(OperatorView):
    """Going on without a step."""

    @extend_schema(**documented.SKIP_STEP)
    def post(self, request: Request, step_id: int) -> Response:
        asked = out.read(out.NeededReasonIn, request.data)
        order_id, name = _step(step_id)
        return _act(
            lambda: operator_services.skip(
                order_id=order_id, step=name, actor=actor(request), reason=asked["reason"]
            )
        )


class OrderCompensation(OperatorView):
    """Having a whole order undone."""

    @extend_schema(**documented.COMPENSATE_ORDER)
    def post(self, request: Request, order_id: UUID) -> Response:
        asked = out.read(out.CompensationIn, request.data)
        return _act(
            lambda: operator_services.compensate(
                order_id=order_id, actor=actor(request), reason=asked["reason"], typed=asked["confirm"]
            )
        )


class AgentPause(OperatorView):
    """Sending nothing new to an agent."""

    @extend_schema(**documented.PAUSE_AGENT)
    def post(self, request: Request, name: str) -> Response:
        asked = out.read(out.NeededReasonIn, request.data)
        _agent(name)
        return _act(
            lambda: agent_services.pause_agent(agent=name, actor=actor(request), reason=asked["reason"])
        )


class AgentResume(OperatorView):
    """Sending work to a paused agent again."""

    @extend_schema(**documented.RESUME_AGENT)
    def post(self, request: Request, name: str) -> Response:
        out.read(out.ReasonIn, request.data)
        _agent(name)
        return _act(lambda: agent_services.resume_agent(agent=name, actor=actor(request)))


def _act(act: Callable[[], Result]) -> Response:
    """Does it, and answers what came of it."""
    try:
        result = act()
    except NoSuchOrderError as error:
        raise NotFound from error
    if result.status is ResultStatus.REFUSED:
        raise ProblemError("act_refused", result.message)
    return Response(out.ResultOut({"result": result.status.value, "said": result.message}).data)


def _about(kwargs: dict[str, Any]) -> dict[str, Any]:
    """What an address is about, in the words of the console's addresses: a step's act is one on its order."""
    if "step_id" in kwargs:
        found = find_step(min(kwargs["step_id"], LARGEST_ID))
        return {"order_id": found[0]} if found else {}
    return {"agent": kwargs["name"]} if "name" in kwargs else kwargs


def _step(step_id: int) -> tuple[UUID, str]:
    found = find_step(min(step_id, LARGEST_ID))
    if found is None:
        raise NotFound
    return found


def _agent(name: str) -> None:
    if not agent_exists(name):
        raise NotFound


def _number(query: Query, name: str) -> int | None:
    number = query.whole(name, -1, lowest=0, highest=LARGEST_ID)
    return None if number == -1 else number


def _render_action(action_id: int, *, status: int) -> Response:
    action = find_action(action_id, now=now())
    if action is None:
        raise NotFound
    return Response(out.BulkActionOut(action).data, status=status)
