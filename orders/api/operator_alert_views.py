"""The operators' REST API of alert groups: one group, its closed alerts, its notes, and who deals with it."""

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api import operator_alert_documentation as documentation
from orders.api import operator_alert_representations as representations
from orders.api.operator_requests import NoteIn
from orders.api.operator_views import ActView, OperatorView, group_of
from orders.api.paging import ClosedAlertQuery, read_query, render_page
from orders.business import Runbook
from orders.fields.numbers import LARGEST_ID
from orders.selectors.database_clock import now
from orders.selectors.desk.alert_groups import group_history, group_summary
from orders.selectors.desk.alerts import closed_alerts_of_group, closed_position
from orders.selectors.desk.runbooks import own_runbook
from orders.selectors.desk.snoozes import snooze_of
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators import alerts as alert_services
from orders.services.operators.acts import already, done
from orders.wording.runbooks import advice_of, find_runbook


class AlertGroupDetail(OperatorView):
    """One alert group."""

    @extend_schema(**documentation.GET_GROUP)
    def get(self, request: Request, group_id: int) -> Response:
        group, at = group_of(group_id), now()
        summary = group_summary(group, now=at)
        body = {
            "group": group,
            "summary": summary,
            "history": group_history(group),
            "snooze": snooze_of(group, count=summary.open if summary else 0, now=at),
            "runbook": _runbook(group, step=summary.step if summary else ""),
            "own_runbook": own_runbook(group.code),
        }
        return Response(representations.AlertGroupDetailsOut.render(body))


def _runbook(group: Any, *, step: str) -> Runbook | None:
    """What is known about a group's code, with the act that is advised for this step."""
    runbook = find_runbook(kind=group.kind, code=group.code, agent=group.agent)
    return replace(runbook, advises=advice_of(runbook, step=step)) if runbook else None


class ClosedAlerts(OperatorView):
    """The closed alerts of a group."""

    @extend_schema(**documentation.LIST_CLOSED)
    def get(self, request: Request, group_id: int) -> Response:
        query = read_query(ClosedAlertQuery, request)
        page = closed_alerts_of_group(group_of(group_id), after=query["cursor"], limit=query["page_size"])
        return render_page(representations.ClosedAlertPageOut, request, page, key=closed_position)


class GroupAct(ActView):
    """An act on an alert group."""

    def post(self, request: Request, **url: Any) -> Response:
        try:
            return super().post(request, **url)
        except alert_services.NoSuchGroupError as error:
            raise NotFound from error

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        return {"group_id": min(url["group_id"], LARGEST_ID)}


def _acknowledge(*, group_id: int, actor: Actor, reason: str) -> Result:
    alert_services.acknowledge(group_id=group_id, actor=actor, reason=reason)
    return done(alert_services.ACKNOWLEDGED)


@extend_schema_view(post=extend_schema(**documentation.ACKNOWLEDGE))
class GroupAcknowledgement(GroupAct):
    """Records who has seen a group."""

    act = staticmethod(_acknowledge)


def _reopen(*, group_id: int, actor: Actor, reason: str) -> Result:
    if group_of(group_id).acknowledged_at is None:
        return already("Nobody has acknowledged the group.")
    alert_services.unacknowledge(group_id=group_id, actor=actor, reason=reason)
    return done("The acknowledgement has been withdrawn.")


@extend_schema_view(post=extend_schema(**documentation.REOPEN))
class GroupReopening(GroupAct):
    """Withdraws an acknowledgement."""

    act = staticmethod(_reopen)


def _add_note(*, group_id: int, actor: Actor, text: str) -> Result:
    alert_services.add_note(group_id=group_id, actor=actor, text=text)
    return done("The note has been added.")


@extend_schema_view(post=extend_schema(**documentation.ADD_NOTE))
class GroupNotes(GroupAct):
    """Adds a note to a group."""

    body = NoteIn
    act = staticmethod(_add_note)
