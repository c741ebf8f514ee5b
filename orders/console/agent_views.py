"""The agents: their circuits, and the acts on them."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from orders.access.levels import ADMINISTER, OPERATE
from orders.console import kept_forms
from orders.console.figures_pages import call_figures
from orders.console.flash import show_result
from orders.console.forms.agents import ForceCircuitForm, LimitForm, PauseForm
from orders.console.guards import act, actor, page
from orders.selectors.database_clock import now
from orders.selectors.desk.agents import AgentStatus, agent_statuses
from orders.selectors.desk.approvals import waiting_about_agents
from orders.selectors.desk.outlook import LISTED, coming_misses, outlooks
from orders.selectors.desk.pauses import read_pauses, steps_to_pause
from orders.services.act_results import Result
from orders.services.operators import agents as agent_services
from orders.wording.outlook import in_a_sentence, limits_of, value_in_words


@page
def show_agents(request: HttpRequest) -> HttpResponse:
    """Shows each agent's circuit, what waits for it, and the processes that run it."""
    at = now()
    agents = agent_statuses(now=at)
    context = {
        "agents": agents,
        **call_figures(request, agents, now=at),
        "approvals": waiting_about_agents(now=at),
        "forms": {agent.name: _forms(request, agent) for agent in agents},
        "steps_to_pause": steps_to_pause(),
    }
    kept_forms.show_rest(request)
    return render(request, "console/agents/list.html", context)


def _forms(request: HttpRequest, agent: AgentStatus) -> dict[str, forms.Form]:
    """The forms of one agent. One that was refused has what was typed, and says why."""
    name, circuit = agent.name, agent.circuit

    def kept(place: str, form: type[forms.Form], **options: Any) -> forms.Form:
        build = partial(form, auto_id=f"{name}-{place}-%s", label_suffix="", **options)
        return kept_forms.kept(request, f"{form.__name__} {name}", build, build())

    limits = {"rate": circuit.set_rate, "capacity": circuit.set_capacity}
    shown = {"limit": kept("limit", LimitForm, initial=limits)}
    if not circuit.paused:
        shown["pause"] = kept("pause", PauseForm)
    if not agent.is_forced:
        shown["force"] = kept("force", ForceCircuitForm)
    return shown


@page
def show_deadlines(request: HttpRequest) -> HttpResponse:
    """Shows which orders will be late at the pace at which their agents now work."""
    at = now()
    agents = agent_statuses(now=at)
    context = {
        "outlooks": [
            {
                "of": outlook,
                "sentence": in_a_sentence(outlook),
                "limits": limits_of(outlook),
                "value": value_in_words(outlook),
            }
            for outlook in outlooks(agents, now=at)
        ],
        "misses": coming_misses(agents, now=at),
        "listed": LISTED,
        "pauses": read_pauses(now=at),
    }
    return render(request, "console/deadlines.html", context)


@act(OPERATE)
def pause(request: HttpRequest, agent: str) -> HttpResponse:
    """Sends nothing new to an agent."""
    form = PauseForm(request.POST)
    operator = actor(request)
    return _act(
        request,
        agent,
        form,
        lambda: agent_services.pause_agent(agent=agent, actor=operator, reason=form.cleaned_data["reason"]),
    )


@act(OPERATE)
def resume(request: HttpRequest, agent: str) -> HttpResponse:
    """Sends work to an agent again."""
    show_result(request, agent_services.resume_agent(agent=agent, actor=actor(request)))
    return _back_to(agent)


@act(OPERATE)
def limit(request: HttpRequest, agent: str) -> HttpResponse:
    """Limits what an agent is sent, or leaves that to the agent again."""
    form = LimitForm(request.POST)
    operator = actor(request)
    return _act(
        request,
        agent,
        form,
        lambda: agent_services.limit_agent(agent=agent, actor=operator, **form.cleaned_data),
    )


@act(ADMINISTER)
def force_circuit(request: HttpRequest, agent: str) -> HttpResponse:
    """Holds an agent's circuit open or closed for a time."""
    form = ForceCircuitForm(request.POST)
    operator = actor(request)
    return _act(
        request,
        agent,
        form,
        lambda: agent_services.force_circuit(agent=agent, actor=operator, **form.cleaned_data),
    )


@act(ADMINISTER)
def unforce_circuit(request: HttpRequest, agent: str) -> HttpResponse:
    """Lets a circuit follow its calls again."""
    show_result(request, agent_services.unforce_circuit(agent=agent, actor=actor(request)))
    return _back_to(agent)


def _act(
    request: HttpRequest,
    agent: str,
    form: PauseForm | LimitForm | ForceCircuitForm,
    call: Callable[[], Result],
) -> HttpResponse:
    kept_forms.answer(request, f"{type(form).__name__} {agent}", form, call)
    return _back_to(agent)


def _back_to(agent: str) -> HttpResponse:
    return redirect(f"{reverse('console:agents')}#{agent}")
