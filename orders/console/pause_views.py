"""What is held back beside single orders and agents: the intake of new orders, and steps of workflows."""

from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from orders.access.levels import ADMINISTER, OPERATE
from orders.console.flash import show_result
from orders.console.forms.fields import first_error
from orders.console.forms.orders import PauseForm
from orders.console.guards import act, actor, page
from orders.selectors.database_clock import now
from orders.selectors.desk.pauses import read_pauses, steps_to_pause
from orders.services.act_results import Result
from orders.services.operators import pausing_intake, pausing_steps


@page
def show_pauses(request: HttpRequest) -> HttpResponse:
    """Shows what is paused, by whom and why, with what pauses and resumes it."""
    form = PauseForm()
    form.auto_id = False
    pauses = read_pauses(now=now())
    paused = {(each.workflow, each.step) for each in pauses.steps}
    others = [each for each in steps_to_pause() if each[:2] not in paused]
    context = {"pauses": pauses, "steps": others, "form": form}
    return render(request, "console/pauses/page.html", context)


@act(ADMINISTER)
def pause_intake(request: HttpRequest) -> HttpResponse:
    """Has new orders refused, until a time or until somebody resumes the intake."""
    return _pause(request, pausing_intake.pause_intake)


@act(ADMINISTER)
def resume_intake(request: HttpRequest) -> HttpResponse:
    """Has new orders accepted again."""
    show_result(request, pausing_intake.resume_intake(actor=actor(request)))
    return redirect("console:pauses")


@act(OPERATE)
def pause_step(request: HttpRequest, workflow: str, step: str) -> HttpResponse:
    """Lets no new call of a step begin, in any order of its workflow."""
    return _pause(request, partial(pausing_steps.pause_step, workflow=workflow, step=step))


@act(OPERATE)
def resume_step(request: HttpRequest, workflow: str, step: str) -> HttpResponse:
    """Lets calls of a step begin again."""
    result = pausing_steps.resume_step(workflow=workflow, step=step, actor=actor(request))
    show_result(request, result)
    return redirect("console:pauses")


def _pause(request: HttpRequest, pause: Callable[..., Result]) -> HttpResponse:
    form = PauseForm(request.POST)
    if form.is_valid():
        until, reason = form.until(now()), form.cleaned_data["reason"]
        show_result(request, pause(actor=actor(request), reason=reason, until=until))
    else:
        messages.error(request, first_error(form))
    return redirect("console:pauses")
