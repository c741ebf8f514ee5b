"""The operators' REST API of the system: its health, agents and workflows, the outbox and the audit log."""

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orders.access.levels import ADMINISTER
from orders.api import operator_system_documentation as documentation
from orders.api import operator_system_representations as representations
from orders.api.operator_incident_representations import IncidentListOut, card_json
from orders.api.operator_requests import ReasonIn
from orders.api.operator_system_requests import AuditQuery, ForceIn, LimitIn, OutboxQuery
from orders.api.operator_views import AgentAct, OperatorView, actor
from orders.api.paging import next_url, read_query, render_page
from orders.api.problems import ProblemError
from orders.fields.numbers import LARGEST_ID
from orders.selectors.database_clock import now
from orders.selectors.desk import audit, outbox, workflows
from orders.selectors.desk.agents import agent_statuses
from orders.selectors.desk.incidents import incidents
from orders.selectors.desk.outlook import coming_misses, outlooks
from orders.selectors.desk.overview import overview
from orders.selectors.desk.status_bar import read_status_bar
from orders.selectors.desk.supervisor import supervisor_status
from orders.services.operators import agents as agent_services
from orders.services.operators import outbox as outbox_services
from orders.vocabulary import TokenScope
from orders.wording.health import summarise
from orders.wording.incidents import cards


class Status(OperatorView):
    """Whether the system is healthy."""

    @extend_schema(**documentation.GET_STATUS)
    def get(self, request: Request) -> Response:
        bar = read_status_bar()
        figures = overview(now=bar.now)
        summary = summarise(
            figures, agent_statuses(now=bar.now), supervisor_status(now=bar.now), bar.open_alerts
        )
        body = {
            "at": bar.now,
            "health": summary.tone,
            "concerns": summary.concerns,
            "orders": figures,
            "time_to_done": figures.done,
            "open_alerts": bar.open_alerts,
            "open_decisions": bar.open_decisions,
            "open_approvals": bar.open_approvals,
            "swept_at": bar.swept_at,
        }
        return Response(representations.StatusOut.render(body))


class Incidents(OperatorView):
    """What is wrong now."""

    @extend_schema(**documentation.LIST_INCIDENTS)
    def get(self, request: Request) -> Response:
        bar = read_status_bar()
        agents, watch = agent_statuses(now=bar.now), supervisor_status(now=bar.now)
        health = summarise(overview(now=bar.now), agents, watch, bar.open_alerts)
        shown = cards(incidents(agents=agents, watch=watch, now=bar.now), health, now=bar.now)
        return Response(
            IncidentListOut.render({"at": bar.now, "results": [card_json(card) for card in shown]})
        )


class Supervisor(OperatorView):
    """The supervisor."""

    @extend_schema(**documentation.GET_SUPERVISOR)
    def get(self, request: Request) -> Response:
        return Response(representations.SupervisorOut.render(supervisor_status(now=now())))


class Workflows(OperatorView):
    """The workflows."""

    @extend_schema(**documentation.LIST_WORKFLOWS)
    def get(self, request: Request) -> Response:
        return Response(representations.WorkflowListOut.render({"results": workflows.graphs(now=now())}))


class Agents(OperatorView):
    """The agents."""

    @extend_schema(**documentation.LIST_AGENTS)
    def get(self, request: Request) -> Response:
        return Response(representations.AgentListOut.render({"results": agent_statuses(now=now())}))


class Deadlines(OperatorView):
    """The orders that will be late."""

    reading_scope = TokenScope.OPERATE

    @extend_schema(**documentation.GET_DEADLINES)
    def get(self, request: Request) -> Response:
        at = now()
        agents = agent_statuses(now=at)
        body = {"agents": outlooks(agents, now=at), "orders": coming_misses(agents, now=at)}
        return Response(representations.DeadlinesOut.render(body))


@extend_schema_view(post=extend_schema(**documentation.LIMIT_AGENT))
class AgentLimit(AgentAct):
    """Limits what an agent is sent."""

    body = LimitIn
    act = staticmethod(agent_services.limit_agent)


@extend_schema_view(post=extend_schema(**documentation.FORCE_CIRCUIT))
class CircuitForce(AgentAct):
    """Forces a circuit."""

    permission = ADMINISTER
    body = ForceIn
    act = staticmethod(agent_services.force_circuit)


@extend_schema_view(post=extend_schema(**documentation.UNFORCE_CIRCUIT))
class CircuitUnforce(AgentAct):
    """Stops forcing a circuit."""

    permission = ADMINISTER
    act = staticmethod(agent_services.unforce_circuit)


class Outbox(OperatorView):
    """The outbox."""

    @extend_schema(**documentation.LIST_OUTBOX)
    def get(self, request: Request) -> Response:
        query = read_query(OutboxQuery, request)
        page = outbox.messages(view=query["state"], before=query["cursor"], limit=query["page_size"])
        return render_page(
            representations.OutgoingMessagePageOut, request, page, key=lambda message: message.id
        )


class OutgoingMessageRetry(OperatorView):
    """Sends a failed message again."""

    @extend_schema(**documentation.RETRY_MESSAGE)
    def post(self, request: Request, message_id: int) -> Response:
        values = ReasonIn.read(request.data)
        message_id = min(message_id, LARGEST_ID)
        try:
            outbox_services.retry(message_id=message_id, actor=actor(request), reason=values["reason"])
        except outbox_services.NoSuchMessageError as error:
            raise NotFound from error
        except outbox_services.NotFailedError as error:
            self._record_refusal(request, {"message_id": message_id}, why=str(error))
            raise ProblemError("act_refused", str(error)) from error
        return Response(representations.OutgoingMessageOut.render(outbox.find_message(message_id)))


class AuditLog(OperatorView):
    """The audit log."""

    @extend_schema(**documentation.LIST_AUDIT)
    def get(self, request: Request) -> Response:
        query = read_query(AuditQuery, request)
        conditions = {name: query[name] for name in ("actor", "act", "target", "kind")}
        allowed = {True: "yes", False: "no", None: ""}[query["allowed"]]
        page = audit.page(
            audit.AuditFilter(**conditions, allowed=allowed, before=query["cursor"]),
            since=query["since"],
            until=query["until"],
            limit=query["page_size"],
        )
        following = None if page.following is None else next_url(request, "cursor", page.following)
        return Response(representations.AuditPageOut.render({"results": page.entries, "next": following}))
