"""Editing fields of many orders in a bulk action: the form, what it would do to each order, and the action."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from orders.access.levels import OPERATE
from orders.business import BadOrderError, Field, registry
from orders.business.editing import editable
from orders.console.bulk_views import selection_of, waves_of
from orders.console.forms.bulk import KINDS, BulkActionForm
from orders.console.forms.step_request import BulkEditForm
from orders.console.guards import act, actor, ask_then_act, needs
from orders.selectors.database_clock import now
from orders.selectors.desk import bulk_selection
from orders.selectors.desk.alert_groups import group_summary
from orders.selectors.desk.bulk_selection import Selection
from orders.selectors.desk.supervisor import retry_limits
from orders.services.operators import bulk as bulk_services
from orders.services.operators.bulk import (
    BusyOrdersError,
    CountMismatchError,
    ImpossibleActionError,
    NothingToDoError,
    TooManyError,
)
from orders.services.operators.bulk_editing import MOST_EXAMINED, BulkEditPreview, fields_of, preview_edit
from orders.vocabulary import BulkKind


class _Edit:
    """A bulk edit as a request asks for it: its orders, and the form of their fields."""

    def __init__(self, selection: Selection, order_ids: list[UUID], form: BulkEditForm) -> None:
        self.selection, self.order_ids, self.form = selection, order_ids, form

    @property
    def changes(self) -> dict[str, Any]:
        """The new values of fields. The form is valid."""
        return self.form.changed({})


def _ask_to_edit(request: HttpRequest) -> HttpResponse:
    return _form_page(request, _read(request))


def _read(request: HttpRequest) -> _Edit:
    values = request.POST if request.method == "POST" else request.GET
    selection = selection_of(values)
    selection = Selection(**{**vars(selection), "kind": BulkKind.EDIT.value})
    order_ids = bulk_selection.orders_of(selection, retry_limits=retry_limits(), now=now())
    data = request.POST if request.method == "POST" else None
    return _Edit(selection, order_ids, BulkEditForm(fields_of(order_ids), data))


@act(OPERATE)
def _review(request: HttpRequest) -> HttpResponse:
    """Shows what the edit would do to each order, or the form again with what is wrong."""
    edit = _read(request)
    if request.POST.get("back") or (seen := _previewed(edit)) is None:
        return _form_page(request, edit, status=200 if edit.form.is_valid() else 422)
    return _review_page(request, edit, seen, BulkActionForm(count=len(edit.order_ids)))


def _previewed(edit: _Edit) -> BulkEditPreview | None:
    """What the edit would do. None, with the error in the form, if that cannot be said."""
    if not edit.form.is_valid():
        return None
    if not edit.changes:
        edit.form.add_error(None, "Enter what is to change. Fields that you leave empty stay as they are.")
        return None
    try:
        return preview_edit(edit.order_ids, edit.changes)
    except BadOrderError as error:
        edit.form.show_mistake(error)
        return None


@act(OPERATE, confirmed=True)
def create(request: HttpRequest) -> HttpResponse:
    """Starts the action, or shows its preview again with what is wrong."""
    edit = _read(request)
    if (seen := _previewed(edit)) is None:
        return _form_page(request, edit, status=422)
    form = BulkActionForm(request.POST, count=len(edit.order_ids))
    if form.is_valid():
        number = form.cleaned_data["seen"]
        if number is not None and len(edit.order_ids) > number:
            form.add_error(None, "More orders match now than when you opened this page. Check them again.")
        elif (action_id := _start(request, edit, form)) is not None:
            return redirect("console:bulk", action_id)
    return _review_page(request, edit, seen, form)


def _start(request: HttpRequest, edit: _Edit, form: BulkActionForm) -> int | None:
    """Starts the action. Returns None, with the error in the form, if the service refuses."""
    values, selection = form.cleaned_data, edit.selection
    try:
        action = bulk_services.create(
            kind=BulkKind.EDIT,
            order_ids=edit.order_ids,
            selection=selection.description,
            group=selection.group,
            query={**selection.query, "changes": edit.changes},
            **form.settings(),
            actor=actor(request),
            reason=values["reason"],
            typed_count=values["typed"],
            token=values["token"],
            most=bulk_selection.MOST,
        )
    except CountMismatchError as error:
        form.ask_for_count(error.count)
    except (BusyOrdersError, ImpossibleActionError, NothingToDoError, TooManyError) as error:
        form.add_error(None, str(error))
    else:
        return action.pk
    return None


def _form_page(request: HttpRequest, edit: _Edit, *, status: int = 200) -> HttpResponse:
    context = {**_context(edit), "form": edit.form, "parts": edit.form.parts(_own_fields(edit.selection))}
    return render(request, "console/bulk/edit.html", context, status=status)


def _own_fields(selection: Selection) -> list[Field]:
    """The fields that go into the request of the step that a cause is about; none without one."""
    cause = group_summary(selection.group, now=now()) if selection.group else None
    if cause is None or not cause.step:
        return []
    versions = [each for each in registry.workflows().values() if cause.step in each.by_name]
    return [field for each in versions for field in editable(each.name, each.version, cause.step)]


def _review_page(
    request: HttpRequest, edit: _Edit, seen: BulkEditPreview, form: BulkActionForm
) -> HttpResponse:
    count = len(edit.order_ids)
    context = {
        **_context(edit),
        "form": form,
        "waves": waves_of(BulkKind.EDIT, form) if count else "",
        "preview": seen,
        "reasons": seen.reasons.most_common(),
        "steps": seen.steps.most_common(),
        "staying": seen.staying.most_common(),
        "most_examined": MOST_EXAMINED,
        "typed": [(name, edit.form.data.get(name, "")) for name in edit.form.fields],
        "needs_count": bulk_services.needs_count(kind=BulkKind.EDIT, count=count),
    }
    return render(request, "console/bulk/edit_review.html", context, status=422 if form.errors else 200)


def _context(edit: _Edit) -> dict[str, Any]:
    selection = edit.selection
    return {
        "selection": selection,
        "count": len(edit.order_ids),
        "fields": [*selection.fields, ("do", selection.kind)],
        "kinds": [(selection.query_string(kind), label, kind == selection.kind) for kind, label in KINDS],
    }


edit = ask_then_act(needs(OPERATE, require_safe(_ask_to_edit)), _review)
"""Shows the form of the orders' fields, and then what the edit would do to each of them."""
