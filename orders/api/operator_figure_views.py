"""The operators' REST API of figures over time."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api import operator_figure_representations as representations
from orders.api.fields import Choice
from orders.api.operator_documentation import DENIED, TAG
from orders.api.operator_views import OperatorView
from orders.api.paging import Query, read_query
from orders.api.problems import OPERATION_PROBLEMS
from orders.selectors.database_clock import now
from orders.selectors.desk.agent_figures import agent_series
from orders.selectors.desk.agents import agent_statuses
from orders.selectors.desk.alert_groups import group_summaries
from orders.selectors.desk.cause_figures import cause_series
from orders.selectors.desk.figures import DEFAULT, RANGES, Range, order_series
from orders.selectors.desk.funnel import orders_at_steps


class FigureQuery(Query):
    """Selects figures."""

    range = Choice(list(RANGES), default=DEFAULT, help_text="How far back.")


DOCUMENTED: dict[str, Any] = {
    "tags": TAG,
    "parameters": [FigureQuery],
    "extensions": {OPERATION_PROBLEMS: [DENIED, "validation_failed"]},
}


class OrderFigures(OperatorView):
    """What became of orders."""

    @extend_schema(
        operation_id="get_order_figures",
        summary="Retrieve what became of orders over time",
        responses=representations.OrderSeriesOut,
        **DOCUMENTED,
    )
    def get(self, request: Request) -> Response:
        series = order_series(_range(request), now=now())
        return Response(representations.OrderSeriesOut.render(series))


class AgentFigures(OperatorView):
    """How agents' calls went."""

    @extend_schema(
        operation_id="list_agent_figures",
        summary="List how each agent's calls went over time",
        responses=representations.AgentSeriesListOut,
        **DOCUMENTED,
    )
    def get(self, request: Request) -> Response:
        at = now()
        agents = [agent.name for agent in agent_statuses(now=at)]
        results = agent_series(_range(request), agents=agents, now=at)
        return Response(representations.AgentSeriesListOut.render({"results": results}))


class CauseFigures(OperatorView):
    """How often causes occurred."""

    @extend_schema(
        operation_id="list_cause_figures",
        summary="List how many alerts of each open cause opened over time",
        responses=representations.CauseSeriesListOut,
        **DOCUMENTED,
    )
    def get(self, request: Request) -> Response:
        at = now()
        groups, _ = group_summaries(now=at)
        results = cause_series(_range(request), groups=[cause.group.pk for cause in groups], now=at)
        return Response(representations.CauseSeriesListOut.render({"results": results}))


class StepFigures(OperatorView):
    """Where orders are, and where they were lost."""

    @extend_schema(
        operation_id="list_step_figures",
        summary="List how many orders are at each step, for how long, and were lost there",
        responses=representations.FunnelOut,
        tags=TAG,
        extensions={OPERATION_PROBLEMS: [DENIED]},
    )
    def get(self, request: Request) -> Response:
        results = [
            {"workflow": workflow, "version": version, "step": step, **asdict(at)}
            for (workflow, version), steps in sorted(orders_at_steps(now=now()).items())
            for step, at in sorted(steps.items())
        ]
        return Response(representations.FunnelOut.render({"results": results}))


def _range(request: Request) -> Range:
    return RANGES[read_query(FigureQuery, request)["range"]]
