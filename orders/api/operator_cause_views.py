"""The operators' REST API of causes: who owns them, their snoozes, tickets, runbooks and history."""

from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from orders.access.levels import ADMINISTER
from orders.api import operator_cause_documentation as documentation
from orders.api import operator_cause_representations as representations
from orders.api import operator_cause_requests as requests
from orders.api.operator_alert_views import GroupAct
from orders.api.operator_views import OperatorView, group_of
from orders.api.paging import read_query, render_page
from orders.fields.numbers import LARGEST_ID
from orders.selectors.database_clock import now
from orders.selectors.desk.cause_acts import recent_times
from orders.selectors.desk.causes import OpenTime, open_times, week_before
from orders.selectors.paging import Position, page_of
from orders.services.operators import causes, runbooks, snoozes


@extend_schema_view(post=extend_schema(**documentation.TAKE))
class GroupTaking(GroupAct):
    """Makes the account the owner of a group."""

    act = staticmethod(causes.take)


@extend_schema_view(post=extend_schema(**documentation.ASSIGN))
class GroupAssignment(GroupAct):
    """Makes an account the owner of a group."""

    body = requests.AssignmentIn
    act = staticmethod(causes.assign)


@extend_schema_view(post=extend_schema(**documentation.SNOOZE))
class GroupSnooze(GroupAct):
    """Snoozes a group."""

    body = requests.SnoozeIn
    act = staticmethod(snoozes.snooze)


@extend_schema_view(post=extend_schema(**documentation.WAKE))
class GroupWaking(GroupAct):
    """Brings a snoozed group back."""

    act = staticmethod(snoozes.wake)


@extend_schema_view(post=extend_schema(**documentation.TICKET))
class GroupTicket(GroupAct):
    """Links a group with a ticket."""

    body = requests.TicketIn
    act = staticmethod(causes.link_ticket)


@extend_schema_view(post=extend_schema(**documentation.RUNBOOK))
class GroupRunbook(GroupAct):
    """Writes the own text about the code of a group."""

    permission = ADMINISTER
    body = requests.RunbookIn
    act = staticmethod(runbooks.write)


class CauseHistory(OperatorView):
    """The times that causes were open."""

    @extend_schema(**documentation.LIST_TIMES)
    def get(self, request: Request) -> Response:
        query = read_query(requests.CauseHistoryQuery, request)
        until = query["until"] or now()
        cursor = query["cursor"]
        times = open_times(
            since=query["since"] or week_before(until),
            until=until,
            before=(cursor.at, min(cursor.order_id.int, LARGEST_ID)) if cursor else None,
            limit=query["page_size"],
        )
        page = page_of(times, query["page_size"])
        return render_page(representations.OpenTimePageOut, request, page, key=_position)


def _position(time: OpenTime) -> Position:
    return Position(time.began_at, UUID(int=time.group.pk))


class GroupTimes(OperatorView):
    """The times that one cause was open."""

    @extend_schema(**documentation.LIST_GROUP_TIMES)
    def get(self, request: Request, group_id: int) -> Response:
        times = recent_times(group_of(group_id), now=now())
        return Response(
            representations.GroupTimesOut.render(
                {"results": [{"time": time, "acts": acts} for time, acts in times]}
            )
        )
