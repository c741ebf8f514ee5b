"""How the system is: the overview, the agents, the supervisor and the workflow."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from orders.access.levels import ADMINISTER, OPERATE
from orders.console import charts
from orders.console.guards import act, actor, page
from orders.console.verdict import verdict
from orders.selectors.clock import now
from orders.selectors.desk import workflows
from orders.selectors.desk.agents import agent_statuses
from orders.selectors.desk.overview import MOST_A_DAY, overview
from orders.selectors.desk.status_bar import read_status_bar
from orders.selectors.desk.supervisor import supervisor_status
from orders.services.operators import agents as agent_services
from orders.services.orders import Act, Result

FORCE_TIMES = ((300, _("5 minutes")), (900, _("15 minutes")), (3600, _("1 hour")), (28800, _("8 hours")))
"""For how long a circuit can be forced, in seconds."""


@page
def show_overview(request: HttpRequest) -> HttpResponse:
    """Is it all right?"""
    at = read_status_bar()
    found = overview(now=at.now)
    agents = agent_statuses(now=at.now)
    watch = supervisor_status(now=at.now)
    return render(
        request,
        "console/overview.html",
        {
            "now": at.now,
            "numbers": found,
            "agents": agents,
            "watch": watch,
            "alerts": at.open_alerts,
            "verdict": verdict(found, agents, watch, at.open_alerts),
            "chart": charts.throughput(found.minutes),
            "most_a_day": MOST_A_DAY,
        },
    )


@page
def show_agents(request: HttpRequest) -> HttpResponse:
    """Each agent's circuit, what waits for it, and the processes that run it."""
    agents = agent_statuses(now=now())
    return render(request, "console/agents.html", {"agents": agents, "force_times": FORCE_TIMES})


@act(OPERATE)
def pause_agent(request: HttpRequest, agent: str) -> HttpResponse:
    """Has nothing new sent to an agent."""
    reason = request.POST.get("reason", "").strip()[:200]
    return _told(request, agent, agent_services.pause_agent(agent=agent, actor=actor(request), reason=reason))


@act(OPERATE)
def resume_agent(request: HttpRequest, agent: str) -> HttpResponse:
    """Has work sent to an agent again."""
    return _told(request, agent, agent_services.resume_agent(agent=agent, actor=actor(request)))


@act(ADMINISTER)
def force_circuit(request: HttpRequest, agent: str) -> HttpResponse:
    """Holds an agent's circuit open or closed for a while."""
    seconds = request.POST.get("seconds", "")
    if seconds not in {str(choice) for choice, _said in FORCE_TIMES}:
        raise Http404
    result = agent_services.force_circuit(
        agent=agent,
        state=request.POST.get("state", ""),
        seconds=float(seconds),
        actor=actor(request),
        reason=request.POST.get("reason", "").strip()[:200],
    )
    return _told(request, agent, result)


@act(ADMINISTER)
def unforce_circuit(request: HttpRequest, agent: str) -> HttpResponse:
    """Leaves a circuit to its calls again."""
    return _told(request, agent, agent_services.unforce_circuit(agent=agent, actor=actor(request)))


def _told(request: HttpRequest, agent: str, result: Result) -> HttpResponse:
    """Back to the agent, with what came of the act."""
    level = messages.SUCCESS if result.act is Act.DONE else messages.WARNING
    messages.add_message(request, level, result.said)
    return redirect(f"{reverse('console:agents')}#{agent}")


@page
def show_supervisor(request: HttpRequest) -> HttpResponse:
    """Who leads, and what the last sweeps found."""
    return render(request, "console/supervisor.html", {"watch": supervisor_status(now=now())})


@page
def show_workflow(request: HttpRequest) -> HttpResponse:
    """The workflow as a graph, with how many orders are at each of its steps."""
    graphs = workflows.graphs(now=now())
    return render(request, "console/workflow.html", {"graphs": graphs, "most": workflows.MOST})
