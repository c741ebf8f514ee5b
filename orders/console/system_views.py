"""The state of the system: the overview, the supervisor and the workflow."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from orders.console.figures_pages import funnels, order_figures
from orders.console.guards import page
from orders.selectors.database_clock import now
from orders.selectors.desk import workflows
from orders.selectors.desk.agents import agent_statuses
from orders.selectors.desk.handover import latest_note
from orders.selectors.desk.incidents import incidents
from orders.selectors.desk.lately_ended import HOURS, lately_ended
from orders.selectors.desk.overview import MOST_A_DAY, overview
from orders.selectors.desk.status_bar import read_status_bar
from orders.selectors.desk.supervisor import supervisor_status
from orders.wording.health import summarise
from orders.wording.incidents import cards


@page
def show_overview(request: HttpRequest) -> HttpResponse:
    """Shows whether the system is healthy, with the numbers behind that."""
    status = read_status_bar()
    figures = overview(now=status.now)
    agents = agent_statuses(now=status.now)
    supervisor = supervisor_status(now=status.now)
    ended_count, ended = lately_ended(now=status.now)
    return render(
        request,
        "console/overview/page.html",
        {
            "now": status.now,
            "numbers": figures,
            "agents": agents,
            "watch": supervisor,
            "incidents": cards(
                incidents(agents=agents, watch=supervisor, now=status.now),
                summarise(figures, agents, supervisor, status.open_alerts),
                now=status.now,
            ),
            "most_a_day": MOST_A_DAY,
            **order_figures(request, now=status.now),
            "handover_note": latest_note(now=status.now),
            "ended": ended,
            "ended_count": ended_count,
            "ended_hours": HOURS,
        },
    )


@page
def show_supervisor(request: HttpRequest) -> HttpResponse:
    """Shows the leader, and what the last sweeps found."""
    return render(request, "console/system/supervisor.html", {"watch": supervisor_status(now=now())})


@page
def show_workflow(request: HttpRequest) -> HttpResponse:
    """Shows the workflow as a graph, with the number of orders at each step."""
    at = now()
    graphs = workflows.graphs(now=at)
    context = {"graphs": graphs, "most": workflows.MOST, **funnels(graphs, now=at)}
    return render(request, "console/system/workflow.html", context)
