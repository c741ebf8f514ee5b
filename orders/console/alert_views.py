"""The alert inbox and the page of one group of alerts."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from orders.access.levels import OPERATE
from orders.console.csv_safe import csv_lines
from orders.console.guards import act, actor, page
from orders.models import AlertGroup
from orders.selectors.clock import now
from orders.selectors.desk import alert_groups, alerts, bulk
from orders.services.operators import alerts as alert_services
from orders.services.operators.alerts import EmptyNoteError, NoSuchGroupError
from orders.vocabulary import BulkState

REASON = 200


@page
def inbox(request: HttpRequest) -> HttpResponse:
    """What is wrong now, by cause."""
    groups, count = alert_groups.group_summaries(now=now())
    return render(request, "console/alerts/inbox.html", {"groups": groups, "count": count})


@page
def inbox_csv(request: HttpRequest) -> HttpResponse:
    """The open alerts as a file, of all groups or of one."""
    group_id = request.GET.get("group", "")
    chosen = _group(int(group_id)).pk if group_id.isdecimal() and len(group_id) < 18 else None
    lines = csv_lines(alerts.COLUMNS, alerts.export(group_id=chosen))
    answer = HttpResponse("".join(lines), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="alerts.csv"'
    return answer


@page
def group(request: HttpRequest, group_id: int) -> HttpResponse:
    """One cause: its orders, notes, what was done about it, and who was told."""
    found = _group(group_id)
    at = now()
    closed = request.GET.get("show") == "closed"
    cause = alert_groups.group_summary(found, now=at)
    history = alert_groups.group_history(found)
    running = next((one for one in history.actions if one.state in _UNDER_WAY), None)
    return render(
        request,
        "console/alerts/group.html",
        {
            "group": found,
            "cause": cause,
            "closed": closed,
            "page": alerts.alerts_of_group(found, closed=closed, after=request.GET.get("after", "")),
            "is_first": "after" not in request.GET,
            "history": history,
            "running": bulk.find_action(running.pk, now=at) if running else None,
            "joined": alerts.joined_since(found, running) if running else [],
        },
    )


_UNDER_WAY = (BulkState.RUNNING, BulkState.PAUSED)


@act(OPERATE)
def note(request: HttpRequest, group_id: int) -> HttpResponse:
    """Writes a note beside a group."""
    try:
        alert_services.add_note(group_id=group_id, actor=actor(request), text=request.POST.get("text", ""))
    except NoSuchGroupError as error:
        raise Http404 from error
    except EmptyNoteError:
        messages.error(request, _("A note needs some text."))
    return redirect("console:group", group_id)


@act(OPERATE)
def acknowledge(request: HttpRequest, group_id: int) -> HttpResponse:
    """Says that somebody sees to a group."""
    try:
        alert_services.acknowledge(group_id=group_id, actor=actor(request), reason=_reason(request))
    except NoSuchGroupError as error:
        raise Http404 from error
    messages.success(request, _("Acknowledged: others see that you see to it."))
    return redirect("console:group", group_id)


@act(OPERATE)
def unacknowledge(request: HttpRequest, group_id: int) -> HttpResponse:
    """Takes an acknowledgement back."""
    try:
        alert_services.unacknowledge(group_id=group_id, actor=actor(request), reason=_reason(request))
    except NoSuchGroupError as error:
        raise Http404 from error
    messages.success(request, _("No longer acknowledged."))
    return redirect("console:group", group_id)


def _reason(request: HttpRequest) -> str:
    return request.POST.get("reason", "").strip()[:REASON]


def _group(group_id: int) -> AlertGroup:
    found = alert_groups.find_group(group_id)
    if found is None:
        raise Http404
    return found
