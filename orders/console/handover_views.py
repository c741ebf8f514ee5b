"""The hand-over at the change of shift: one page, the same as plain text, the note of who leaves, and the email."""

from datetime import datetime, timedelta
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from orders.access.levels import OPERATE, may_operate
from orders.console import kept_forms
from orders.console.flash import show_result
from orders.console.forms.fields import first_error
from orders.console.forms.handover import HandoverNoteForm, SendForm
from orders.console.forms.ranges import HandoverForm
from orders.console.guards import act, actor, page, previous_page
from orders.selectors.database_clock import now
from orders.selectors.desk.handover import HOURS, read_handover
from orders.services.act_results import Result
from orders.services.operators import handover as handover_services
from orders.wording.handover_text import handover_text

SENDING = "SendForm"
"""Under what name a form that was refused is kept."""


@page
def show(request: HttpRequest) -> HttpResponse:
    """Shows what happened in a range, what is open, and what waits for people."""
    return _page(request, HandoverNoteForm())


def _page(request: HttpRequest, note_form: HandoverNoteForm, *, status: int = 200) -> HttpResponse:
    at = now()
    form = HandoverForm(request.GET)
    since = form.beginning(now=at)
    status = status if since else 400
    if not note_form.is_bound:
        note_form = HandoverNoteForm(since=since)
    accounts = may_operate().exclude(email="").values_list("username", flat=True)
    build = partial(SendForm, accounts=accounts)
    context = {
        "handover": read_handover(since=since, now=at) if since else None,
        "form": form,
        "hours": HOURS,
        "chosen": _chosen(form),
        "query": request.GET.urlencode(),
        "note_form": note_form,
        "send_form": kept_forms.kept(request, SENDING, build, build(since=since)),
    }
    kept_forms.show_rest(request)
    return render(request, "console/handover/page.html", context, status=status)


def _chosen(form: HandoverForm) -> int | None:
    """The number of hours that the page shows; None if it begins at a time."""
    if form.errors or form.cleaned_data.get("since"):
        return None
    return form.cleaned_data.get("hours") or HOURS[0]


@page
def show_text(request: HttpRequest) -> HttpResponse:
    """Shows the same as plain text, to copy."""
    at = now()
    form = HandoverForm(request.GET)
    since = form.beginning(now=at)
    text = handover_text(read_handover(since=since, now=at)) if since else f"{first_error(form)}\n"
    return HttpResponse(text, status=200 if since else 400, content_type="text/plain; charset=utf-8")


@act(OPERATE)
def add_note(request: HttpRequest) -> HttpResponse:
    """Stores the note of somebody who leaves."""
    form = HandoverNoteForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    show_result(request, handover_services.add_note(actor=actor(request), **form.cleaned_data))
    return redirect(_back(request))


@act(OPERATE)
def send(request: HttpRequest) -> HttpResponse:
    """Sends the hand-over by email."""
    form, operator = SendForm(request.POST), actor(request)

    def call() -> Result:
        since: datetime = form.cleaned_data["since"] or now() - timedelta(hours=HOURS[0])
        return handover_services.send(actor=operator, since=since, to=form.cleaned_data["to"])

    kept_forms.answer(request, SENDING, form, call, refused_at="to")
    return redirect(_back(request))


def _back(request: HttpRequest) -> str:
    """The hand-over that the form was on, with its range."""
    page_url = previous_page(request)
    own = reverse("console:handover")
    return page_url if f"{own}?" in page_url and "/note/" not in page_url else own
