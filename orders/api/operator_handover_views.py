"""The operators' REST API of hand-overs: what a shift leaves the next one, its note, and the email."""

from dataclasses import fields
from datetime import timedelta
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api import operator_cause_documentation as documentation
from orders.api import operator_cause_representations as representations
from orders.api import operator_cause_requests as requests
from orders.api.operator_views import ActView, OperatorView
from orders.api.paging import invalid_query, read_query
from orders.selectors.database_clock import now
from orders.selectors.desk.handover import HOURS, read_handover, refusal_of_range
from orders.services.operators import handover as handover_services
from orders.wording.handover_text import handover_text


class HandoverReport(OperatorView):
    """What a shift leaves the next one."""

    @extend_schema(**documentation.GET_HANDOVER)
    def get(self, request: Request) -> Response:
        at = now()
        since = read_query(requests.HandoverQuery, request)["since"]
        since = since or at - timedelta(hours=HOURS[0])
        if problem := refusal_of_range(since, now=at):
            raise invalid_query({"since": problem})
        handover = read_handover(since=since, now=at)
        body: dict[str, Any] = {part.name: getattr(handover, part.name) for part in fields(handover)}
        body["open"] = [cause.alerts for cause in handover.open]
        body["snoozed"] = [cause.alerts for cause in handover.snoozed]
        body |= {"began": handover.began, "ended": handover.ended}
        body["bulk_actions"] = [
            action for action in handover.actions if action.is_running or action.is_paused
        ]
        body["ended_bulk_actions"] = [action for action in handover.actions if action.has_ended]
        body["text"] = handover_text(handover)
        return Response(representations.HandoverOut.render(body))


@extend_schema_view(post=extend_schema(**documentation.ADD_NOTE))
class HandoverNotes(ActView):
    """Leaves a note for the next shift."""

    body = requests.HandoverNoteIn
    act = staticmethod(handover_services.add_note)


@extend_schema_view(post=extend_schema(**documentation.SEND))
class HandoverSending(ActView):
    """Sends the hand-over by email."""

    body = requests.SendingIn
    act = staticmethod(handover_services.send)
