"""What is held back beside single orders and agents: the intake of new orders, and steps of workflows."""

from collections.abc import Callable
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from orders.access.levels import ADMINISTER, OPERATE
from orders.console import kept_forms
from orders.console.flash import show_result
from orders.console.forms.pauses import INTAKE, PlacedPauseForm, step_place
from orders.console.guards import act, actor, page
from orders.selectors.database_clock import now
from orders.selectors.desk.approvals import waiting_about_intake
from orders.selectors.desk.pauses import read_pauses, steps_to_pause
from orders.services.act_results import Result
from orders.services.operators import pausing_intake, pausing_steps


@page
def show_pauses(request: HttpRequest) -> HttpResponse:
    """Shows what is paused, by whom and why, with what pauses and resumes it."""
    at = now()
    pauses = read_pauses(now=at)
    paused = {(each.workflow, each.step) for each in pauses.steps}
    context = {
        "pauses": pauses,
        "intake_form": _form(request, INTAKE),
        "approvals": waiting_about_intake(now=at),
        "steps": [
            (workflow, step, agent, _form(request, step_place(workflow, step)))
            for workflow, step, agent in steps_to_pause()
            if (workflow, step) not in paused
        ],
    }
    kept_forms.show_rest(request)
    return render(request, "console/pauses/page.html", context)


def _form(request: HttpRequest, place: str) -> PlacedPauseForm:
    """The form at a place of the page. One that was refused has what was typed, and says why."""
    form = PlacedPauseForm(place=place)
    return kept_forms.kept(request, form.name, partial(PlacedPauseForm, place=place), form)


@act(ADMINISTER)
def pause_intake(request: HttpRequest) -> HttpResponse:
    """Has new orders refused, until a time or until somebody resumes the intake."""
    return _pause(request, INTAKE, pausing_intake.pause_intake)


@act(ADMINISTER)
def resume_intake(request: HttpRequest) -> HttpResponse:
    """Has new orders accepted again."""
    show_result(request, pausing_intake.resume_intake(actor=actor(request)))
    return redirect("console:pauses")


@act(OPERATE)
def pause_step(request: HttpRequest, workflow: str, step: str) -> HttpResponse:
    """Lets no new call of a step begin, in any order of its workflow."""
    pause = partial(pausing_steps.pause_step, workflow=workflow, step=step)
    return _pause(request, step_place(workflow, step), pause)


@act(OPERATE)
def resume_step(request: HttpRequest, workflow: str, step: str) -> HttpResponse:
    """Lets calls of a step begin again."""
    result = pausing_steps.resume_step(workflow=workflow, step=step, actor=actor(request))
    show_result(request, result)
    return redirect("console:pauses")


def _pause(request: HttpRequest, place: str, pause: Callable[..., Result]) -> HttpResponse:
    form, operator = PlacedPauseForm(request.POST, place=place), actor(request)

    def call() -> Result:
        return pause(actor=operator, reason=form.cleaned_data["reason"], until=form.until(now()))

    kept_forms.answer(request, form.name, form, call)
    return redirect("console:pauses")
