"""What is held back beside single orders and agents: the intake of new orders."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from orders.access.levels import ADMINISTER
from orders.console.flash import show_result
from orders.console.forms.fields import first_error
from orders.console.forms.orders import PauseForm
from orders.console.guards import act, actor, page
from orders.selectors.database_clock import now
from orders.selectors.desk.pauses import read_pauses
from orders.services.operators import pausing_intake


@page
def show_pauses(request: HttpRequest) -> HttpResponse:
    """Shows what is paused, by whom and why, with what pauses and resumes it."""
    form = PauseForm()
    form.auto_id = False
    context = {"pauses": read_pauses(now=now()), "form": form}
    return render(request, "console/pauses/page.html", context)


@act(ADMINISTER)
def pause_intake(request: HttpRequest) -> HttpResponse:
    """Has new orders refused, until a time or until somebody resumes the intake."""
    form = PauseForm(request.POST)
    if not form.is_valid():
        messages.error(request, first_error(form))
        return redirect("console:pauses")
    until = form.until(now())
    result = pausing_intake.pause_intake(
        actor=actor(request), reason=form.cleaned_data["reason"], until=until
    )
    show_result(request, result)
    return redirect("console:pauses")


@act(ADMINISTER)
def resume_intake(request: HttpRequest) -> HttpResponse:
    """Has new orders accepted again."""
    show_result(request, pausing_intake.resume_intake(actor=actor(request)))
    return redirect("console:pauses")
