"""Bulk actions: previewing and starting one, the list, and the page of one under way."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from orders.access.levels import OPERATE
from orders.console.csv_export import csv_response
from orders.console.flash import show_result
from orders.console.forms.bulk import KINDS, BulkActionForm, BulkActionsForm, BulkItemsForm, SelectionForm
from orders.console.forms.filters import OrderFilterForm
from orders.console.guards import act, actor, needs, page, previous_page
from orders.console.known_filters import only_filters
from orders.console.presence import beside_others, of_group, present
from orders.console.resubmission_part import waits_part
from orders.selectors.database_clock import now
from orders.selectors.desk import bulk, bulk_selection, refund_approval
from orders.selectors.desk.bulk_again import causes_of
from orders.selectors.desk.bulk_selection import Selection
from orders.selectors.desk.money_back import NOTHING, MoneyBack
from orders.selectors.desk.supervisor import retry_limits
from orders.services.operators import approvals, bulk_control
from orders.services.operators import bulk as bulk_services
from orders.services.operators.approval_acts import bulk_parameters
from orders.services.operators.bulk import (
    BusyOrdersError,
    CountMismatchError,
    ImpossibleActionError,
    NothingToDoError,
    TooManyError,
)
from orders.services.operators.bulk_control import NoSuchActionError, TooLateError
from orders.services.refund_approval import ApprovalNeededError
from orders.vocabulary import ApprovalAct, BulkItemState, BulkKind
from orders.wording.bulk_sums import money_of_action, sums_of, worth_sentence
from orders.wording.cancelling import cancel_many, refund_sentence
from orders.wording.runbooks import advice_of, against_resubmitting, find_runbook
from orders.wording.units import bounded
from orders.wording.waves import outcome_in_words, waves_in_words

ACTS = {
    "pause": (bulk_control.pause, "Paused. No more orders are started until you resume it."),
    "resume": (bulk_control.resume, "Resumed."),
    "stop": (bulk_control.stop, "Stopped. Orders that were already started continue."),
    "undo": (bulk_control.undo, "Undone. No order was changed."),
}
COLUMNS = ("order", "wave", "state", "result", "acted_at", "ended_at")


@page
@only_filters(BulkActionsForm)
def show_actions(request: HttpRequest) -> HttpResponse:
    """Lists the bulk actions, newest first, or the resubmissions of single orders."""
    query, at = BulkActionsForm(request.GET), now()
    actions = bulk.action_page(after=query.position, now=at, of_one=query.is_of_one)
    context = {
        "page": actions,
        "of_one": query.is_of_one,
        "waits": waits_part([progress.action.pk for progress in actions.actions], now=at),
        "is_first": "after" not in request.GET,
    }
    return render(request, "console/bulk/list.html", context)


@page
@only_filters(BulkItemsForm)
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
            "waits": waits_part([action_id], now=now()),
            "outcome": outcome_in_words(progress),
            "causes": causes_of(action_id) if progress.failed else (),
            "money": money_of_action(progress.action.kind, progress.money),
            "sums": {state: sums_of(back) for state, back in progress.sums.items()},
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


@only_filters(OrderFilterForm, SelectionForm, own_errors=True)
@present(of_group, "bulk-new")
def _preview(request: HttpRequest) -> HttpResponse:
    selection = selection_of(request.GET)
    if selection.kind == BulkKind.EDIT:
        return redirect(f"{reverse('console:bulk-edit')}?{request.GET.urlencode()}")
    count = _count(selection)
    return _preview_page(request, selection, BulkActionForm(count=count), count)


preview = needs(OPERATE, require_safe(_preview))
"""Shows which orders an action would take, how many, and how, before it is started."""


@act(OPERATE, confirmed=True)
@beside_others(of_group, "bulk-new")
def create(request: HttpRequest) -> HttpResponse:
    """Starts an action, or shows the form again with what is wrong."""
    selection = selection_of(request.POST)
    if selection.kind == BulkKind.EDIT:
        raise Http404
    order_ids = bulk_selection.orders_of(selection, retry_limits=retry_limits(), now=now())
    leaves_out = bool(request.POST.get("leave_out_busy"))
    if leaves_out:
        busy = bulk.busy_orders(order_ids)
        order_ids = [order_id for order_id in order_ids if order_id not in busy]
    form = BulkActionForm(request.POST, count=len(order_ids))
    if form.is_valid():
        seen = form.cleaned_data["seen"]
        if selection.problems:
            form.add_error(None, "The filter cannot be read, so it selects no order. Correct it in the list.")
        elif len(order_ids) > bulk_selection.MOST:
            form.add_error(None, "These are more orders than one action can take. Narrow the filter.")
        elif seen is not None and len(order_ids) > seen:
            form.add_error(None, "More orders match now than when you opened this page. Check them again.")
        elif (answer := _start(request, selection, form, order_ids)) is not None:
            return answer
    count = len(order_ids) if leaves_out else _count(selection)
    return _preview_page(request, selection, form, count, leaves_out=leaves_out)


def _start(
    request: HttpRequest, selection: Selection, form: BulkActionForm, order_ids: list[UUID]
) -> HttpResponse | None:
    """Starts the action, or asks for it. Returns None, with the error in the form, if the service refuses."""
    values, operator = form.cleaned_data, actor(request)
    fields: dict[str, Any] = {
        "kind": selection.kind,
        "order_ids": order_ids,
        "selection": selection.description,
        "group": selection.group,
        "query": selection.query,
        **form.settings(),
    }
    reason, typed = values["reason"], values["typed"]
    try:
        try:
            action = bulk_services.create(
                **fields,
                actor=operator,
                reason=reason,
                typed_count=typed,
                token=values["token"],
                predecessor=selection.failed_of,
            )
        except ApprovalNeededError:
            parameters = bulk_parameters(**fields)
            asking = approvals.ask(
                act=ApprovalAct.BULK, parameters=parameters, actor=operator, reason=reason, typed=typed
            )
            show_result(request, asking.result)
            return redirect("console:approvals")
        return redirect("console:bulk", action.pk)
    except BusyOrdersError as error:
        return _offer_the_others(request, selection, error)
    except CountMismatchError as error:
        form.ask_for_count(error.count)
    except NothingToDoError:
        form.add_error(None, "No order matches any longer, so there is nothing to do.")
    except (TooManyError, ImpossibleActionError) as error:
        form.add_error(None, str(error))
    return None


def _offer_the_others(request: HttpRequest, selection: Selection, error: BusyOrdersError) -> HttpResponse:
    """The form again, for the orders that no other action has, and links to the actions that have the others."""
    count = error.total - error.count
    form = BulkActionForm(request.POST, count=count)
    form.add_error(None, str(error))
    return _preview_page(request, selection, form, count, leaves_out=True, busy_in=error.actions)


def selection_of(query: QueryDict) -> Selection:
    """The orders that a form selects. Raises `Http404` if it selects none."""
    selection = SelectionForm(query).selection()
    if selection is None:
        raise Http404
    return selection


def _count(selection: Selection) -> int:
    return bulk_selection.count(selection, retry_limits=retry_limits(), now=now())


def _money_back(selection: Selection) -> MoneyBack:
    if selection.kind != BulkKind.COMPENSATE:
        return NOTHING
    return bulk_selection.selection_money_back(selection, retry_limits=retry_limits(), now=now())


def _worth(selection: Selection) -> MoneyBack:
    if selection.kind == BulkKind.COMPENSATE:
        return NOTHING
    return bulk_selection.selection_worth(selection, retry_limits=retry_limits(), now=now())


def _against_resubmitting(selection: Selection) -> str:
    """Why resubmitting the orders of a cause does not help; empty if it may."""
    group = selection.group
    if group is None or selection.kind != BulkKind.RESUBMIT:
        return ""
    runbook = find_runbook(kind=group.kind, code=group.code, agent=group.agent)
    return against_resubmitting(advice_of(runbook, step=""), agent=group.agent)


def waves_of(kind: str, form: BulkActionForm) -> str:
    """What happens to the orders of an action one after the other, as far as its form can be read."""
    return waves_in_words(kind, form.sizes(), stop_percent=form.percent())


def _needs_approval(selection: Selection) -> bool:
    if selection.kind != BulkKind.COMPENSATE or not refund_approval.is_set():
        return False
    limits = retry_limits()
    return refund_approval.may_refund(
        bulk_selection.orders_of(selection, retry_limits=limits, now=now(), most=bulk_selection.MOST)
    )


def _preview_page(
    request: HttpRequest,
    selection: Selection,
    form: BulkActionForm,
    count: int,
    *,
    leaves_out: bool = False,
    busy_in: Sequence[int] = (),
) -> HttpResponse:
    back = _money_back(selection) if count else NOTHING
    return render(
        request,
        "console/bulk/new.html",
        {
            "selection": selection,
            "cancel_act": cancel_many(count, back, shown=bounded(count, bulk_selection.MOST)),
            "refund": refund_sentence(back),
            "worth": worth_sentence(count, _worth(selection)) if count else "",
            "needs_approval": _needs_approval(selection),
            "against_resubmitting": _against_resubmitting(selection),
            "leaves_out": leaves_out,
            "busy_in": busy_in,
            "form": form,
            "waves": waves_of(selection.kind, form) if count else "",
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
