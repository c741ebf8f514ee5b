"""The audit log: the acts that operators carried out, and those that were refused."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from orders.console.csv_export import csv_response
from orders.console.forms.filters import AuditFilterForm
from orders.console.guards import page
from orders.console.known_filters import only_filters
from orders.selectors.desk import audit


@page
@only_filters(AuditFilterForm, own_errors=True)
def show_audit(request: HttpRequest) -> HttpResponse:
    """Shows who did what, why, what it changed, and what was refused."""
    form = AuditFilterForm(request.GET)
    form.offer(audit.acts())
    is_wrong = bool(form.errors.keys() - {"before"})
    entries = audit.NO_ENTRIES if is_wrong else audit.entries(form.filter)
    query = request.GET.copy()
    is_first = not query.pop("before", None)
    own_query = query.urlencode()
    if entries.following is not None:
        query["before"] = str(entries.following)
    context = {
        "entries": entries.entries,
        "form": form,
        "filter": form.filter,
        "is_wrong": is_wrong,
        "first": None if is_first else own_query,
        "after": query.urlencode() if entries.following is not None else "",
        "csv_query": own_query,
    }
    return render(request, "console/system/audit.html", context)


@page
@only_filters(AuditFilterForm)
def export_audit(request: HttpRequest) -> HttpResponseBase:
    """Exports the entries of a filter."""
    return csv_response("audit.csv", audit.COLUMNS, audit.rows(AuditFilterForm(request.GET).filter))
