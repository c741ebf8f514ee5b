"""Editing what a failed step asks for: the form, the comparison to confirm, and the act.

The order's fields are edited instead (`orders.console.order_edit_views`), unless the step is an item, which has fields
of its own, or nothing can be made of the order's data.
"""

from urllib.parse import urlencode
from uuid import UUID

from django.core.signing import BadSignature, dumps, loads
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from orders.access.levels import OPERATE
from orders.console.flash import show_result
from orders.console.forms.step_request import EditForm, inputs
from orders.console.guards import act, actor, ask_then_act, needs
from orders.console.order_lookup import read_page, step_named
from orders.console.presence import beside_others, of_order, present
from orders.selectors.desk.console_order import ConsoleOrder, ConsoleStep
from orders.services.operators import editing, order_editing
from orders.services.operators.editing import Field
from orders.services.order_lock import NoSuchOrderError

SEEN_SALT = "console.edit"
"""The salt of the signed values that an operator saw before she edited them."""


@present(of_order, "step-edit")
def _ask_to_edit(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    order = read_page(order_id)
    step_page, fields = _editable(order, step)
    if step_page.can_edit and order_editing.has_fields_of(order_id, step, fields):
        at = reverse("console:order-edit", args=[order_id])
        return redirect(f"{at}?{urlencode({'step': step})}")
    form = EditForm(fields, initial=EditForm.initial_of(fields, step_page.request))
    return _form_page(request, order, step_page, form)


def _form_page(
    request: HttpRequest, order: ConsoleOrder, step: ConsoleStep, form: EditForm, *, status: int = 200
) -> HttpResponse:
    context = {"console_order": order, "step": step, "form": form}
    return render(request, "console/orders/edit.html", context, status=status)


def _editable(order: ConsoleOrder, name: str) -> tuple[ConsoleStep, tuple[Field, ...]]:
    step, facts = step_named(order, name), order.detail.order
    assert facts is not None
    fields = editing.editable_fields(workflow=facts.workflow, version=facts.version, step=name)
    if not fields:
        raise Http404
    return step, fields


@act(OPERATE)
@beside_others(of_order, "step-edit", when=lambda request: "confirm" in request.POST)
def _edit(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    """Checks the form and shows the comparison; with `confirm`, edits and resubmits the step."""
    order = read_page(order_id)
    step_page, fields = _editable(order, step)
    form = EditForm(fields, request.POST, initial=EditForm.initial_of(fields, step_page.request))
    if not form.is_valid() or request.POST.get("back"):
        return _form_page(request, order, step_page, form, status=200 if form.is_valid() else 422)
    if not request.POST.get("confirm"):
        return _comparison_page(request, order, step_page, form, fields)
    try:
        seen = loads(request.POST.get("seen", ""), salt=SEEN_SALT)
    except BadSignature:
        return _comparison_page(request, order, step_page, form, fields)
    try:
        result = editing.edit_and_resubmit(
            order_id=order_id,
            step=step,
            changes=form.changes(),
            seen=seen,
            actor=actor(request),
            reason=form.cleaned_data["reason"],
        )
    except NoSuchOrderError as error:
        raise Http404 from error
    except ValueError as error:
        form.show_refusal(error)
        return _form_page(request, order, step_page, form, status=422)
    show_result(request, result)
    return redirect("console:order", order_id)


def _comparison_page(
    request: HttpRequest, order: ConsoleOrder, step: ConsoleStep, form: EditForm, fields: tuple[Field, ...]
) -> HttpResponse:
    present = {field.name: step.request.get(field.name) for field in fields}
    before = EditForm.initial_of(fields, present)
    after = EditForm.initial_of(fields, form.changes())
    rows = [
        {
            "name": name,
            "label": part.label,
            "before": before[name],
            "after": after[name],
            "differs": before[name] != after[name],
        }
        for field in fields
        for name, part in inputs(field)
    ]
    context = {
        "console_order": order,
        "step": step,
        "rows": rows,
        "differs": any(row["differs"] for row in rows),
        "seen": dumps(present, salt=SEEN_SALT),
        "reason": form.cleaned_data["reason"],
    }
    return render(request, "console/orders/comparison.html", context)


edit = ask_then_act(needs(OPERATE, require_safe(_ask_to_edit)), _edit)
"""Shows the form of a step's editable fields, then the comparison, and edits the step when that is confirmed."""
