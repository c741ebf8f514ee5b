"""Editing an order's fields: the form, the comparison of what its steps will ask for, and the act."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, dumps, loads
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from orders.access.levels import OPERATE
from orders.business import Field
from orders.business.order_edits import OrderEdit
from orders.console.flash import show_result
from orders.console.forms.step_request import EditForm
from orders.console.guards import act, actor, ask_then_act, needs
from orders.console.order_lookup import read_page
from orders.console.presence import beside_others, of_order, present
from orders.selectors.desk.console_order import ConsoleOrder
from orders.services.act_results import ResultStatus
from orders.services.operators import editing, order_editing
from orders.services.operators.order_editing import EditableOrder, ReversalNeededError
from orders.wording.order_edits import compare_edit, in_words, reversal_sentences, staying_sentences

SEEN_SALT = "console.edit-order"
"""The salt of the signed values that an operator saw before she edited them."""


@present(of_order, "order-edit")
def _ask_to_edit(request: HttpRequest, order_id: UUID) -> HttpResponse:
    order, editable = _editable(request, order_id)
    form = EditForm(editable.fields, initial=EditForm.initial_of(editable.fields, editable.values))
    return _form_page(request, order, form, why_not=editable.why_not)


def _editable(request: HttpRequest, order_id: UUID) -> tuple[ConsoleOrder, EditableOrder]:
    """The order and its fields. Raises `Http404` if it has none."""
    order = read_page(order_id)
    facts = order.detail.order
    if facts is None or order.detail.archived is not None:
        raise Http404
    return order, order_editing.editable_order(order_id)


def _own_fields(request: HttpRequest, order: ConsoleOrder) -> Sequence[Field]:
    """The fields of the order that go into the request of the step that the url names; none without one."""
    facts, step = order.detail.order, request.GET.get("step", "")
    assert facts is not None
    return editing.editable_fields(workflow=facts.workflow, version=facts.version, step=step) if step else ()


def _form_page(
    request: HttpRequest, order: ConsoleOrder, form: EditForm, *, why_not: str = "", status: int = 200
) -> HttpResponse:
    parts = form.parts(_own_fields(request, order))
    context = {"console_order": order, "form": form, "parts": parts, "why_not": why_not}
    return render(request, "console/orders/edit_order.html", context, status=status)


@act(OPERATE)
@beside_others(of_order, "order-edit", when=lambda request: "confirm" in request.POST)
def _edit(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Checks the form and shows the comparison; with `confirm`, edits the order."""
    order, editable = _editable(request, order_id)
    present = EditForm.initial_of(editable.fields, editable.values)
    form = EditForm(editable.fields, request.POST, initial=present, blank=_blank(editable))
    if editable.why_not:
        return _form_page(request, order, form, why_not=editable.why_not, status=422)
    if not form.is_valid() or request.POST.get("back"):
        return _form_page(request, order, form, status=200 if form.is_valid() else 422)
    try:
        seen = loads(request.POST.get("seen", ""), salt=SEEN_SALT) if request.POST.get("confirm") else None
    except BadSignature:
        seen = None
    try:
        if seen is None:
            edit = _compare(order_id, form.changed(editable.values))
            return _comparison_page(request, order, form, edit, editable)
        changes = form.changed(seen)
        result = order_editing.edit_order(
            order_id=order_id,
            changes=changes,
            seen={name: seen.get(name) for name in changes},
            actor=actor(request),
            reason=form.cleaned_data["reason"],
            reverse=[
                step.facts.name for step in order.steps if step.facts.name in request.POST.getlist("reverse")
            ],
        )
    except ValueError as error:
        form.show_refusal(error)
        return _form_page(request, order, form, status=422)
    if result.status is ResultStatus.REFUSED:
        form.add_error(None, result.message)
        return _form_page(request, order, form, status=422)
    show_result(request, result)
    return redirect("console:order", order_id)


def _compare(order_id: UUID, changes: Mapping[str, Any]) -> OrderEdit:
    """What the edit would change. Where it must, it has what may have been done reversed first, which the page says."""
    try:
        return order_editing.preview(order_id=order_id, changes=changes)
    except ReversalNeededError as needed:
        return order_editing.preview(order_id=order_id, changes=changes, reverse=needed.steps)


def _blank(editable: EditableOrder) -> Sequence[str]:
    """The inputs that may stay empty, because they are."""
    return [name for name, text in EditForm.initial_of(editable.fields, editable.values).items() if not text]


def _comparison_page(
    request: HttpRequest, order: ConsoleOrder, form: EditForm, edit: OrderEdit, editable: EditableOrder
) -> HttpResponse:
    comparison = compare_edit(edit)
    context = {
        "console_order": order,
        "comparison": comparison,
        "alike": in_words(comparison.alike) if comparison.alike else "",
        "staying": staying_sentences(edit),
        "reversals": reversal_sentences(edit),
        "reversed_first": edit.reversed_first,
        "names": in_words(edit.reversed_first) if edit.reversed_first else "",
        "differs": bool(edit.fields),
        "typed": [(name, form.data.get(name, "")) for name in form.fields],
        "seen": dumps(dict(editable.values), salt=SEEN_SALT),
        "is_in_error": order.can_resubmit,
    }
    return render(request, "console/orders/edit_order_comparison.html", context)


edit = ask_then_act(needs(OPERATE, require_safe(_ask_to_edit)), _edit)
"""Shows the form of an order's fields, then the comparison, and edits the order when that is confirmed."""
