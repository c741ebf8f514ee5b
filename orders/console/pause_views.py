"""What is held back beside single orders and agents: the intake of new orders, and steps of workflows."""

from datetime import datetime
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from orders.access.levels import ADMINISTER, OPERATE
from orders.console import kept_forms
from orders.console.flash import show_result
from orders.console.forms.pauses import INTAKE, PlacedPauseForm
from orders.console.guards import act, actor, ask_then_act, needs, page
from orders.selectors.database_clock import now
from orders.selectors.desk.agent_waits import agent_waits
from orders.selectors.desk.approvals import waiting_about_intake
from orders.selectors.desk.pauses import is_step_paused, read_pauses, steps_to_pause
from orders.services.act_results import Result
from orders.services.operators import pausing_intake, pausing_steps
from orders.wording.pauses import agent_wait_in_words


@page
def show_pauses(request: HttpRequest) -> HttpResponse:
    """Shows what is paused, by whom and why, with what pauses and resumes it."""
    at = now()
    pauses = read_pauses(now=at)
    paused = {(each.workflow, each.step) for each in pauses.steps}
    steps, waits = steps_to_pause(), _waits(at)
    context = {
        "pauses": pauses,
        "intake_form": _intake_form(request),
        "approvals": waiting_about_intake(now=at),
        "paused_steps": [(each, *waits.get((each.workflow, each.step), ("", ""))) for each in pauses.steps],
        "steps": [(workflow, step) for workflow, step, _ in steps if (workflow, step) not in paused],
        "names_workflows": len({workflow for workflow, _, _ in steps}) > 1,
    }
    kept_forms.show_rest(request)
    return render(request, "console/pauses/page.html", context)


def _waits(at: datetime) -> dict[tuple[str, str], tuple[str, str]]:
    """The agent that orders wait for at each step, and how many do, in words."""
    return {step: (wait.agent.name, agent_wait_in_words(wait)) for step, wait in agent_waits(now=at).items()}


def _intake_form(request: HttpRequest) -> PlacedPauseForm:
    """The form that stops new orders. One that was refused has what was typed, and says why."""
    form = PlacedPauseForm(place=INTAKE)
    return kept_forms.kept(request, form.name, partial(PlacedPauseForm, place=INTAKE), form)


@act(ADMINISTER)
def pause_intake(request: HttpRequest) -> HttpResponse:
    """Has new orders refused, until a time or until somebody resumes the intake."""
    form, operator = PlacedPauseForm(request.POST, place=INTAKE), actor(request)

    def call() -> Result:
        reason = form.cleaned_data["reason"]
        return pausing_intake.pause_intake(actor=operator, reason=reason, until=form.until(now()))

    kept_forms.answer(request, form.name, form, call)
    return redirect("console:pauses")


@act(ADMINISTER)
def resume_intake(request: HttpRequest) -> HttpResponse:
    """Has new orders accepted again."""
    show_result(request, pausing_intake.resume_intake(actor=actor(request)))
    return redirect("console:pauses")


def _ask_to_pause_step(request: HttpRequest, workflow: str, step: str) -> HttpResponse:
    if is_step_paused(workflow, step, now=now()):
        return redirect("console:pauses")
    return _step_page(request, workflow, step, PlacedPauseForm(place="step"))


def _step_page(request: HttpRequest, workflow: str, step: str, form: PlacedPauseForm) -> HttpResponse:
    agents = {(each[0], each[1]): each[2] for each in steps_to_pause()}
    if (workflow, step) not in agents:
        raise Http404
    _, wait = _waits(now()).get((workflow, step), ("", ""))
    context = {
        "workflow": workflow,
        "step": step,
        "agent": agents[workflow, step],
        "wait": wait,
        "form": form,
    }
    status = 422 if form.errors else 200
    return render(request, "console/pauses/step.html", context, status=status)


@act(OPERATE)
def _pause_step(request: HttpRequest, workflow: str, step: str) -> HttpResponse:
    form, operator = PlacedPauseForm(request.POST, place="step"), actor(request)
    if not form.is_valid():
        return _step_page(request, workflow, step, form)
    result = pausing_steps.pause_step(
        workflow=workflow,
        step=step,
        actor=operator,
        reason=form.cleaned_data["reason"],
        until=form.until(now()),
    )
    show_result(request, result)
    return redirect("console:pauses")


pause_step = ask_then_act(needs(OPERATE, require_safe(_ask_to_pause_step)), _pause_step)
"""Says what the pause of a step holds back, and lets no new call of it begin, in any order of its workflow."""


@act(OPERATE)
def resume_step(request: HttpRequest, workflow: str, step: str) -> HttpResponse:
    """Lets calls of a step begin again."""
    result = pausing_steps.resume_step(workflow=workflow, step=step, actor=actor(request))
    show_result(request, result)
    return redirect("console:pauses")
