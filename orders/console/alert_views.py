"""The alert inbox, and the page of an alert group."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from orders.access.levels import OPERATE
from orders.console.csv_export import csv_response
from orders.console.figures_pages import cause_figures
from orders.console.forms.alerts import ExportForm, GroupAlertsForm, NoteForm
from orders.console.forms.fields import ReasonForm, first_error
from orders.console.guards import act, actor, page
from orders.console.known_filters import only_filters
from orders.selectors.database_clock import now
from orders.selectors.desk import alert_groups, alerts, bulk
from orders.services.operators import alerts as alert_services
from orders.services.operators.alerts import NoSuchGroupError
from orders.vocabulary import BulkState
from orders.wording.cancelling import cancel_many

IN_PROGRESS = (BulkState.RUNNING, BulkState.PAUSED)


@page
@only_filters()
def show_inbox(request: HttpRequest) -> HttpResponse:
    """Shows what is wrong now, with one row for each cause."""
    at = now()
    groups, count = alert_groups.group_summaries(now=at)
    sparks = cause_figures([cause.group.pk for cause in groups], now=at)
    return render(request, "console/alerts/inbox.html", {"groups": groups, "count": count, **sparks})


@page
@only_filters(ExportForm)
def export_alerts(request: HttpRequest) -> HttpResponseBase:
    """Exports the open alerts of all groups, or of one."""
    form = ExportForm(request.GET)
    if not form.is_valid():
        raise Http404
    group_id = form.cleaned_data["group"]
    if group_id is not None and alert_groups.find_group(group_id) is None:
        raise Http404
    rows = alerts.export(group_id=group_id)
    return csv_response("alerts.csv", alerts.COLUMNS, rows)


@page
@only_filters(GroupAlertsForm)
def show_group(request: HttpRequest, group_id: int) -> HttpResponse:
    """Shows one cause: its orders, notes, bulk actions, and the notifications about it."""
    return _group_page(request, group_id, NoteForm())


def _group_page(
    request: HttpRequest, group_id: int, note_form: NoteForm, *, status: int = 200
) -> HttpResponse:
    group = alert_groups.find_group(group_id)
    if group is None:
        raise Http404
    at = now()
    cause = alert_groups.group_summary(group, now=at)
    query = GroupAlertsForm(request.GET)
    history = alert_groups.group_history(group)
    running = next((action for action in history.actions if action.state in IN_PROGRESS), None)
    return render(
        request,
        "console/alerts/group.html",
        {
            "group": group,
            "cause": cause,
            "cancel_act": cancel_many(cause.open, alerts.group_money_back(cause)) if cause else "",
            "closed": query.shows_closed,
            "page": alerts.alerts_of_group(group, closed=query.shows_closed, after=query.position),
            "is_first": not query.position,
            "history": history,
            "running": bulk.find_action(running.pk, now=at) if running else None,
            "joined": alerts.joined_since(group, running) if running else [],
            "note_form": note_form,
            **cause_figures([group.pk], now=at),
        },
        status=status,
    )


@act(OPERATE)
def add_note(request: HttpRequest, group_id: int) -> HttpResponse:
    """Adds a note to a group."""
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _group_page(request, group_id, form, status=422)
    try:
        alert_services.add_note(group_id=group_id, actor=actor(request), text=form.cleaned_data["text"])
    except NoSuchGroupError as error:
        raise Http404 from error
    return redirect("console:group", group_id)


@act(OPERATE)
def acknowledge(request: HttpRequest, group_id: int) -> HttpResponse:
    """Records that an operator is handling a group."""
    message = "Acknowledged. Others can see that you are handling it."
    return _change(request, group_id, alert_services.acknowledge, message)


@act(OPERATE)
def unacknowledge(request: HttpRequest, group_id: int) -> HttpResponse:
    """Withdraws an acknowledgement."""
    return _change(request, group_id, alert_services.unacknowledge, "The acknowledgement has been withdrawn.")


def _change(request: HttpRequest, group_id: int, service: Callable[..., Any], message: str) -> HttpResponse:
    form = ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, first_error(form))
        return redirect("console:group", group_id)
    try:
        service(group_id=group_id, actor=actor(request), reason=form.cleaned_data["reason"])
    except NoSuchGroupError as error:
        raise Http404 from error
    messages.success(request, message)
    return redirect("console:group", group_id)
