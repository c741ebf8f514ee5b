"""The alert inbox, and the page of an alert group."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from orders.access.levels import OPERATE, may_operate
from orders.console.csv_export import csv_response
from orders.console.figures_pages import cause_figures
from orders.console.forms.alerts import ExportForm, GroupAlertsForm, NoteForm
from orders.console.forms.causes import InboxForm, OwnerForm, SnoozeForm, TicketForm
from orders.console.forms.fields import ReasonForm, first_error
from orders.console.forms.ranges import HistoryForm
from orders.console.forms.runbooks import RunbookForm
from orders.console.guards import act, actor, page
from orders.console.kept_forms import kept, show_rest
from orders.console.known_filters import only_filters
from orders.console.presence import of_group, present
from orders.console.resubmission_part import resubmissions_part, waits_part
from orders.console.runbook_parts import runbook_of
from orders.selectors.database_clock import now
from orders.selectors.desk import alert_groups, alerts, bulk
from orders.selectors.desk.cause_acts import recent_times
from orders.selectors.desk.cause_answers import status_of
from orders.selectors.desk.causes import SHOWN, OpenTime, earlier_times, open_times
from orders.selectors.desk.inbox import read_inbox
from orders.selectors.desk.last_owner import last_owner
from orders.selectors.desk.snoozes import snooze_of
from orders.services.operators import alerts as alert_services
from orders.services.operators.alerts import NoSuchGroupError
from orders.vocabulary import AlertKind, BulkState
from orders.wording.alert_words import alert_text
from orders.wording.cancelling import cancel_many
from orders.wording.cause_headings import failed_heading
from orders.wording.endings import past_headline

SAVED_NOTE = "saved_note"
"""Where the session has the note that the next page confirms beside it."""
IN_PROGRESS = (BulkState.RUNNING, BulkState.PAUSED)


@page
@only_filters(InboxForm)
def show_inbox(request: HttpRequest) -> HttpResponse:
    """Shows what is wrong now, with one row for each cause."""
    at = now()
    inbox = read_inbox(InboxForm(request.GET).view, account=request.user.pk, now=at)
    least = {row.cause.group.pk: row.cause.last_hour for row in inbox.rows}
    sparks = cause_figures(list(least), now=at, least=least)
    context = {"groups": inbox.rows, "count": inbox.count, "inbox": inbox, **sparks}
    return render(request, "console/alerts/inbox.html", context)


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
@present(of_group)
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
    resubmitted = resubmissions_part(group_id, now=at)
    shift = _shift_parts(request, group, cause, at)
    last = None if resubmitted["under_way"] else shift["earlier"].last
    running = next((action for action in history.actions if action.state in IN_PROGRESS), None)
    return render(
        request,
        "console/alerts/group.html",
        {
            "group": group,
            "cause": cause,
            "headline": _headline(group, cause, last, at),
            "says_what_failed": bool(_what_failed(group, cause)),
            "http_status": status_of(cause.newest) if cause else None,
            "cancel_act": cancel_many(cause.open, alerts.group_money_back(cause)) if cause else "",
            "closed": query.shows_closed,
            "of_orders": AlertKind.are_about_orders(group.kind),
            "page": alerts.alerts_of_group(group, closed=query.shows_closed, after=query.position),
            "is_first": not query.position,
            "history": history,
            "running": bulk.find_action(running.pk, now=at) if running else None,
            "joined": alerts.joined_since(group, running) if running else [],
            "note_form": note_form,
            "saved_note": request.session.pop(SAVED_NOTE, None),
            "waits": waits_part([running.pk] if running else [], now=at),
            **resubmitted,
            **cause_figures([group.pk], now=at, least={group.pk: cause.last_hour if cause else 0}),
            **shift,
        },
        status=status,
    )


def _headline(group: Any, cause: Any, last: OpenTime | None, at: datetime) -> str:
    """What the cause is, with the agent that it is about, and when it was if it is over."""
    text = alert_text(group.kind, cause.message if cause else group.pattern)
    named = f"{group.agent}: {text}" if group.agent and group.agent not in text else text
    if last and not cause:
        return past_headline(named, last, today=at.date())
    return _what_failed(group, cause) or named


def _what_failed(group: Any, cause: Any) -> str:
    """What the cause did to orders; empty if it is about something else."""
    return failed_heading(
        kind=group.kind, agent=group.agent, code=group.code, count=cause.open if cause else 0
    )


def _shift_parts(request: HttpRequest, group: Any, cause: Any, at: datetime) -> dict[str, Any]:
    """Who owns a group, its snooze, what is known about its code, and when it was open before."""
    own = runbook_of(group.kind, group.code, group.agent, step=cause.step if cause else "")
    snooze = snooze_of(group, count=cause.open if cause else 0, now=at)
    own_text = own["own_runbook"].text if own["own_runbook"] else ""
    return {
        "snooze": snooze,
        "earlier": earlier_times(group, now=at),
        "last_owner": last_owner(group, now=at) if cause else None,
        **_group_forms(request, group, own_text, can_snooze=bool(cause) and not snooze),
        **own,
    }


def _group_forms(
    request: HttpRequest, group: Any, own_text: str, *, can_snooze: bool
) -> dict[str, forms.Form]:
    """The forms that change what people decide of a group. One that was refused has what was typed, and says why."""
    owners = may_operate().values_list("username", flat=True)
    owner, ticket = group.owner_name, group.ticket_url

    def seeing(present: str, data: QueryDict) -> QueryDict:
        """What was typed, by somebody who now sees what is there."""
        data["expected"] = present
        return data

    fields: dict[str, forms.Form] = {
        "owner_form": kept(
            request,
            f"owner {group.pk}",
            lambda data: OwnerForm(seeing(owner, data), owners=owners, present=owner),
            OwnerForm(owners=owners, present=owner),
        ),
        "ticket_form": kept(
            request,
            f"ticket {group.pk}",
            lambda data: TicketForm(seeing(ticket, data)),
            TicketForm(present=ticket),
        ),
        "runbook_form": kept(
            request,
            f"runbook {group.pk}",
            lambda data: RunbookForm(seeing(own_text, data)),
            RunbookForm(present=own_text),
        ),
        "snooze_form": SnoozeForm(),
    }
    if can_snooze:
        fields["snooze_form"] = kept(request, f"snooze {group.pk}", SnoozeForm, SnoozeForm())
    show_rest(request)
    return fields


@page
def show_history(request: HttpRequest) -> HttpResponse:
    """Lists every time that a cause was open in a range."""
    at = now()
    form = HistoryForm(request.GET)
    since, until = form.range(now=at)
    times = open_times(since=since, until=until, before=form.position)
    query = request.GET.copy()
    if len(times) > SHOWN:
        query["before"] = f"{times[SHOWN - 1].began_at.isoformat()}~{times[SHOWN - 1].group.pk}"
    context = {
        "times": times[:SHOWN],
        "form": form,
        "older": query.urlencode() if len(times) > SHOWN else "",
    }
    return render(request, "console/alerts/history.html", context)


@page
def show_group_times(request: HttpRequest, group_id: int) -> HttpResponse:
    """Shows the times that one cause was open, with what people did about it."""
    group = alert_groups.find_group(group_id)
    if group is None:
        raise Http404
    context = {"group": group, "times": recent_times(group, now=now())}
    return render(request, "console/alerts/group_times.html", context)


@act(OPERATE)
def add_note(request: HttpRequest, group_id: int) -> HttpResponse:
    """Adds a note to a group."""
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _group_page(request, group_id, form, status=422)
    try:
        note = alert_services.add_note(
            group_id=group_id, actor=actor(request), text=form.cleaned_data["text"]
        )
    except NoSuchGroupError as error:
        raise Http404 from error
    request.session[SAVED_NOTE] = note.pk
    return redirect(f"{reverse('console:group', args=[group_id])}#note-{note.pk}")


@act(OPERATE)
def acknowledge(request: HttpRequest, group_id: int) -> HttpResponse:
    """Records that an operator has seen a group."""
    return _change(request, group_id, alert_services.acknowledge, alert_services.ACKNOWLEDGED)


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
