"""Bulk actions: previewing and starting one, the list, and the page of one under way."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from orders.access.levels import OPERATE
from orders.console.csv_export import csv_response
from orders.console.forms.bulk import KINDS, BulkActionForm, BulkItemsForm, SelectionForm
from orders.console.forms.fields import PageForm
from orders.console.guards import act, actor, needs, page, previous_page
from orders.selectors.database_clock import now
from orders.selectors.desk import bulk, bulk_selection
from orders.selectors.desk.bulk_selection import Selection
from orders.selectors.desk.supervisor import retry_limits
from orders.services.operators import bulk as bulk_services
from orders.services.operators import bulk_control
from orders.services.operators.bulk import (
    CountMismatchError,
    ImpossibleActionError,
    NothingToDoError,
    TooManyError,
)
from orders.services.operators.bulk_control import NoSuchActionError, TooLateError
from orders.vocabulary import BulkItemState
from orders.wording.cancelling import WITHOUT_MONEY, cancel_words

ACTS = {
    "pause": (bulk_control.pause, "Paused. No more orders are started until you resume it."),
    "resume": (bulk_control.resume, "Resumed."),
    "stop": (bulk_control.stop, "Stopped. Orders that were already started continue."),
    "undo": (bulk_control.undo, "Undone. No order was changed."),
}
COLUMNS = ("order", "wave", "state", "result", "acted_at", "ended_at")


@page
def show_actions(request: HttpRequest) -> HttpResponse:
    """Lists the bulk actions, newest first."""
    actions = bulk.action_page(after=PageForm(request.GET).position, now=now())
    context = {"page": actions, "is_first": "after" not in request.GET}
    return render(request, "console/bulk/list.html", context)


@page
def show_action(request: HttpRequest, action_id: int) -> HttpResponseBase:
    """Shows an action's waves and the result of each order; with `format=csv`, exports the results."""
    progress = bulk.find_action(action_id, now=now())
    if progress is None:
        raise Http404
    if request.GET.get("format") == "csv":
        rows = bulk.results(action_id, most=bulk_services.MOST)
        return csv_response(f"bulk-{action_id}.csv", COLUMNS, rows)
    query = BulkItemsForm(request.GET)
    return render(
        request,
        "console/bulk/action.html",
        {
            "progress": progress,
            "cancel": WITHOUT_MONEY,
            "items": bulk.item_page(action_id, state=query.chosen_state, after=query.position),
            "state": query.chosen_state,
            "is_first": query.position is None,
            "choices": [
                ("", "All", progress.action.total),
                (BulkItemState.WAITING, "Waiting", progress.waiting),
                (BulkItemState.ACTED, "Running", progress.acted),
                (BulkItemState.DONE, "Done", progress.done),
                (BulkItemState.FAILED_AGAIN, "Failed again", progress.failed),
                (BulkItemState.NOTHING, "Nothing to do", progress.nothing),
            ],
        },
    )


@act(OPERATE)
def change(request: HttpRequest, action_id: int, act: str) -> HttpResponse:
    """Pauses, resumes, stops or undoes an action, and returns to the page with the button."""
    if act not in ACTS:
        raise Http404
    service, message = ACTS[act]
    try:
        service(action_id=action_id, actor=actor(request))
    except NoSuchActionError as error:
        raise Http404 from error
    except TooLateError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, message)
    return redirect(previous_page(request))


def _preview(request: HttpRequest) -> HttpResponse:
    selection = _selection(request.GET)
    count = _count(selection)
    return _preview_page(request, selection, BulkActionForm(count=count), count)


preview = needs(OPERATE, require_safe(_preview))
"""Shows which orders an action would take, how many, and how, before it is started."""


@act(OPERATE, confirmed=True)
def create(request: HttpRequest) -> HttpResponse:
    """Starts an action, or shows the form again with what is wrong."""
    selection = _selection(request.POST)
    order_ids = bulk_selection.orders_of(selection, retry_limits=retry_limits(), now=now())
    form = BulkActionForm(request.POST, count=len(order_ids))
    if form.is_valid():
        seen = form.cleaned_data["seen"]
        if selection.problems:
            form.add_error(None, "The filter cannot be read, so it selects no order. Correct it in the list.")
        elif len(order_ids) > bulk_selection.MOST:
            form.add_error(None, "These are more orders than one action can take. Narrow the filter.")
        elif seen is not None and len(order_ids) > seen:
            form.add_error(None, "More orders match now than when you opened this page. Check them again.")
        else:
            action = _start(request, selection, form, order_ids)
            if action is not None:
                return redirect("console:bulk", action.pk)
    return _preview_page(request, selection, form, _count(selection))


def _start(request: HttpRequest, selection: Selection, form: BulkActionForm, order_ids: list[UUID]) -> Any:
    """Starts the action. Returns None, with the error in the form, if the service refuses."""
    values = form.cleaned_data
    try:
        return bulk_services.create(
            kind=selection.kind,
            order_ids=order_ids,
            selection=selection.description,
            actor=actor(request),
            reason=values["reason"],
            group=selection.group,
            query=selection.query,
            waves=values["waves"],
            stop_share=values["stop_percent"] / 100,
            rate=values["rate"],
            typed_count=values["typed"],
            token=values["token"],
        )
    except CountMismatchError as error:
        form.ask_for_count(error.count)
    except NothingToDoError:
        form.add_error(None, "No order matches any longer, so there is nothing to do.")
    except (TooManyError, ImpossibleActionError) as error:
        form.add_error(None, str(error))
    return None


def _selection(query: QueryDict) -> Selection:
    selection = SelectionForm(query).selection()
    if selection is None:
        raise Http404
    return selection


def _count(selection: Selection) -> int:
    return bulk_selection.count(selection, retry_limits=retry_limits(), now=now())


def _preview_page(
    request: HttpRequest, selection: Selection, form: BulkActionForm, count: int
) -> HttpResponse:
    return render(
        request,
        "console/bulk/new.html",
        {
            "selection": selection,
            "cancel": cancel_words(has_money=bulk_selection.has_money(selection)),
            "form": form,
            "count": count,
            "archived": bulk_selection.count_archived(selection, now=now()),
            "is_too_many": count > bulk_selection.MOST,
            "most": bulk_selection.MOST,
            "needs_count": bulk_services.needs_count(kind=selection.kind, count=count),
            "fields": [*selection.fields, ("do", selection.kind)],
            "kinds": [(selection.query_string(kind), label, kind == selection.kind) for kind, label in KINDS],
        },
        status=422 if form.errors else 200,
    )
