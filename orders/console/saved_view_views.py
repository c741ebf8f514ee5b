"""The saved views of the list of orders: all that an operator sees, a new one, and one to change or delete."""

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from orders.access.levels import OPERATE
from orders.console.flash import show_result
from orders.console.forms.saved_views import SavedViewForm
from orders.console.guards import act, actor, ask_then_act, needs, page
from orders.console.known_filters import only_filters
from orders.fields.numbers import LARGEST_ID
from orders.selectors.desk.saved_views import MOST_OWN, ViewRow, view_of, views_of
from orders.services.act_results import Result, ResultStatus
from orders.services.operators import saved_views


@page
@only_filters()
def show_views(request: HttpRequest) -> HttpResponse:
    """Lists the views that an operator sees, her own first."""
    context = {"views": views_of(request.user), "most_own": MOST_OWN}
    return render(request, "console/orders/views/list.html", context)


@act(OPERATE)
def save(request: HttpRequest) -> HttpResponse:
    """Saves the query of the list of orders as a view, and returns to the list with that query."""
    form = SavedViewForm(request.POST)
    if form.is_valid():
        result = saved_views.save(actor=actor(request), **form.cleaned_data)
        if not _is_refused(result, form):
            show_result(request, result)
            return redirect(f"{reverse('console:orders')}?{urlencode({'q': form.cleaned_data['query']})}")
    return render(request, "console/orders/views/new.html", {"form": form}, status=422)


def _show_form(request: HttpRequest, view_id: int) -> HttpResponse:
    view = _read(request, view_id)
    return _form_page(request, view, SavedViewForm(view=view))


@act(OPERATE)
def _change(request: HttpRequest, view_id: int) -> HttpResponse:
    view, form = _read(request, view_id), SavedViewForm(request.POST)
    if form.is_valid():
        result = saved_views.change(actor=actor(request), view_id=view.id, **form.cleaned_data)
        if not _is_refused(result, form):
            show_result(request, result)
            return redirect("console:views")
    return _form_page(request, view, form)


change = ask_then_act(needs(OPERATE, require_safe(_show_form)), _change)


@act(OPERATE)
def delete(request: HttpRequest, view_id: int) -> HttpResponse:
    """Deletes a view."""
    view = _read(request, view_id)
    show_result(request, saved_views.delete(actor=actor(request), view_id=view.id))
    return redirect("console:views")


def _form_page(request: HttpRequest, view: ViewRow, form: SavedViewForm) -> HttpResponse:
    context = {"view": view, "form": form}
    return render(request, "console/orders/views/edit.html", context, status=422 if form.errors else 200)


def _read(request: HttpRequest, view_id: int) -> ViewRow:
    view = view_of(min(view_id, LARGEST_ID), request.user)
    if view is None:
        raise Http404
    return view


def _is_refused(result: Result, form: SavedViewForm) -> bool:
    is_refused = result.status is ResultStatus.REFUSED
    if is_refused:
        form.show_refusal(result.message)
    return is_refused
