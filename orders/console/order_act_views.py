"""What is done with one order from its page. Every view parses, asks a service once, and says what really happened."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.signing import BadSignature, dumps, loads
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from orders.access.levels import ADMINISTER, OPERATE
from orders.console import order_forms
from orders.console.guards import act, actor, needs, previous_page
from orders.console.order_forms import EditForm
from orders.selectors.clock import now
from orders.selectors.desk.confirmation import confirmation
from orders.selectors.desk.order_page import OrderPage, StepPage, order_page
from orders.selectors.desk.supervisor import retry_limits
from orders.services.operators import bulk as bulk_services
from orders.services.operators import editing as operator_editing
from orders.services.operators import orders as operator_services
from orders.services.operators import settling as operator_settling
from orders.services.operators.bulk import NotInErrorError
from orders.services.orders import Act, NoSuchOrderError, Result

LONGEST_REASON = 200
LONGEST_RESULT = 4_000
SEEN = "console.edit"
"""The salt of what an operator saw before she edited."""

View = Callable[..., HttpResponseBase]


def by_method(ask: View, do: View) -> View:
    """One address: `ask` shows the form, `do` takes it."""

    @wraps(do)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return (do if request.method == "POST" else ask)(request, *args, **kwargs)

    return view


def told(request: HttpRequest, result: Result) -> None:
    """Says what came of an act."""
    tell = {Act.DONE: messages.success, Act.ALREADY: messages.info, Act.REFUSED: messages.error}
    tell[result.act](request, result.said)


def _acted(request: HttpRequest, order_id: UUID, ask: Callable[[], Result]) -> HttpResponse:
    try:
        told(request, ask())
    except NoSuchOrderError as error:
        raise Http404 from error
    return redirect("console:order", order_id)


def _reason(request: HttpRequest) -> str:
    return request.POST.get("reason", "").strip()[:LONGEST_REASON]


def _page_of(order_id: UUID) -> OrderPage:
    found = order_page(order_id, tries=retry_limits(), now=now())
    if found is None or found.detail.order is None:
        raise Http404
    return found


def _step_of(found: OrderPage, name: str) -> StepPage:
    step = next((one for one in found.steps if one.facts.name == name), None)
    if step is None:
        raise Http404
    return step


@act(OPERATE)
def resubmit(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Has an order resubmitted in ten seconds, or with `now` at once."""
    if request.POST.get("now"):
        who, why = actor(request), _reason(request)
        return _acted(
            request,
            order_id,
            lambda: operator_services.resubmit_now(order_id=order_id, actor=who, reason=why),
        )
    try:
        bulk_services.resubmit_one(order_id=order_id, actor=actor(request), reason=_reason(request))
    except NoSuchOrderError as error:
        raise Http404 from error
    except NotInErrorError as error:
        messages.info(request, str(error))
    else:
        messages.success(request, _("It will be resubmitted in a moment. Until then it can be undone."))
    return redirect(previous_page(request))


@act(OPERATE)
def retry(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Has what waits for a retry tried now."""
    step, who = request.POST.get("step") or None, actor(request)
    return _acted(
        request, order_id, lambda: operator_services.retry_now(order_id=order_id, step=step, actor=who)
    )


@act(OPERATE)
def set_priority(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Gives an order another priority."""
    given, who, why = request.POST.get("priority", ""), actor(request), _reason(request)
    priority = int(given) if given.isascii() and given.isdecimal() and len(given) < 4 else -1
    return _acted(
        request,
        order_id,
        lambda: operator_services.set_priority(order_id=order_id, priority=priority, actor=who, reason=why),
    )


def _ask_to_skip(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    return _skip_form(request, order_id, step)


def _skip_form(
    request: HttpRequest, order_id: UUID, step: str, *, error: str = "", status: int = 200
) -> HttpResponse:
    found = _page_of(order_id)
    context = {"it": found, "step": _step_of(found, step), "error": error, "reason": _reason(request)}
    return render(request, "console/orders/skip.html", context, status=status)


@act(OPERATE)
def _skip(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    who, why, typed = actor(request), _reason(request), request.POST.get("typed", "")[:120]
    try:
        result = operator_services.skip(order_id=order_id, step=step, actor=who, reason=why, typed=typed)
    except NoSuchOrderError as error:
        raise Http404 from error
    if result.act is Act.REFUSED and typed.strip() != step:
        wrong = _("Nothing was done: type the name of the step, %(step)s, to confirm it.") % {"step": step}
        return _skip_form(request, order_id, step, error=wrong, status=422)
    told(request, result)
    return redirect("console:order", order_id)


skip = by_method(needs(OPERATE, require_safe(_ask_to_skip)), _skip)
"""Asks why a step is to be skipped, has its name typed, and skips it."""


def _ask_to_settle(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    return _settle_form(request, order_id, step)


def _settle_form(
    request: HttpRequest, order_id: UUID, step: str, *, error: str = "", status: int = 200
) -> HttpResponse:
    found = _page_of(order_id)
    context = {
        "it": found,
        "step": _step_of(found, step),
        "is_undo": found.detail.order is not None and found.detail.order.goal == "compensate",
        "error": error,
        "asked": request.POST,
    }
    return render(request, "console/orders/settle.html", context, status=status)


@act(ADMINISTER)
def _settle(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    how = request.POST.get("how", "")
    options: dict[str, Any] = {
        "order_id": order_id,
        "step": step,
        "actor": actor(request),
        "reason": _reason(request),
    }
    if how == "undone":
        return _acted(request, order_id, lambda: operator_settling.settle_undone(**options))
    if how == "not done":
        return _acted(request, order_id, lambda: operator_settling.settle_not_done(**options))
    if how != "done":
        return _settle_form(request, order_id, step, error=_("Say how it is."), status=422)
    try:
        result = json.loads(request.POST.get("result", "").strip()[:LONGEST_RESULT] or "{}")
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        wrong = _("The result is to be a JSON object, as the remote service would have answered.")
        return _settle_form(request, order_id, step, error=wrong, status=422)
    return _acted(request, order_id, lambda: operator_settling.settle_done(result=result, **options))


settle = by_method(needs(ADMINISTER, require_safe(_ask_to_settle)), _settle)
"""Asks what became of a step, with the proof, and records it."""


def _ask_to_edit(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    found = _page_of(order_id)
    one, fields = _editable(found, step)
    form = EditForm(fields, initial=EditForm.initial_of(fields, one.request))
    return _edit_form(request, found, one, form)


def _edit_form(
    request: HttpRequest, found: OrderPage, step: StepPage, form: EditForm, *, status: int = 200
) -> HttpResponse:
    context = {"it": found, "step": step, "form": form, "reason": request.POST.get("reason", "")}
    return render(request, "console/orders/edit.html", context, status=status)


def _editable(found: OrderPage, name: str) -> tuple[StepPage, tuple[order_forms.Field, ...]]:
    step, order = _step_of(found, name), found.detail.order
    assert order is not None
    fields = operator_editing.editable_fields(workflow=order.workflow, version=order.version, step=name)
    if not fields:
        raise Http404
    return step, fields


@act(OPERATE)
def _edit(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    """Checks the form and shows the difference; with `confirm`, makes it so."""
    found = _page_of(order_id)
    one, fields = _editable(found, step)
    form = EditForm(fields, request.POST)
    if not form.is_valid() or request.POST.get("back"):
        return _edit_form(request, found, one, form, status=200 if form.is_valid() else 422)
    if not request.POST.get("confirm"):
        return _difference(request, found, one, form, fields)
    try:
        seen = loads(request.POST.get("seen", ""), salt=SEEN)
    except BadSignature:
        return _difference(request, found, one, form, fields)
    who, why = actor(request), _reason(request)
    try:
        return _acted(
            request,
            order_id,
            lambda: operator_editing.edit_and_resubmit(
                order_id=order_id, step=step, changes=form.changes(), seen=seen, actor=who, reason=why
            ),
        )
    except ValueError as error:
        form.add_error(None, str(error))
        return _edit_form(request, found, one, form, status=422)


def _difference(
    request: HttpRequest,
    found: OrderPage,
    step: StepPage,
    form: EditForm,
    fields: tuple[order_forms.Field, ...],
) -> HttpResponse:
    old = {field.name: step.request.get(field.name) for field in fields}
    before, after = order_forms.flat(old, fields), order_forms.flat(form.changes(), fields)
    rows = [
        {
            "name": name,
            "label": order_forms.label_of(name.rpartition(".")[2]),
            "before": before[name],
            "after": after[name],
            "differs": before[name] != after[name],
        }
        for name in after
    ]
    context = {
        "it": found,
        "step": step,
        "rows": rows,
        "differs": any(row["differs"] for row in rows),
        "seen": dumps(old, salt=SEEN),
        "reason": _reason(request),
    }
    return render(request, "console/orders/difference.html", context)


edit = by_method(needs(OPERATE, require_safe(_ask_to_edit)), _edit)
"""The form of a step's editable fields, the difference to confirm, and the act."""


def _ask_to_compensate(request: HttpRequest, order_id: UUID) -> HttpResponse:
    found = _page_of(order_id)
    asked = confirmation(order_id)
    return render(request, "console/orders/compensate.html", {"it": found, "asked": asked})


@act(OPERATE, confirmed=True)
def _compensate(request: HttpRequest, order_id: UUID) -> HttpResponse:
    who, why, typed = actor(request), _reason(request), request.POST.get("typed", "")[:40]
    try:
        result = operator_services.compensate(order_id=order_id, actor=who, reason=why, typed=typed)
    except NoSuchOrderError as error:
        raise Http404 from error
    told(request, result)
    if result.act is Act.REFUSED:
        return redirect("console:order-compensate", order_id)
    return redirect("console:order", order_id)


compensate = by_method(needs(OPERATE, require_safe(_ask_to_compensate)), _compensate)
"""Says what undoing an order means, has it confirmed, and asks for it."""


@act(OPERATE)
def replay(request: HttpRequest, number: int) -> HttpResponse:
    """Puts a submission that was set aside back on the queue."""
    told(request, operator_services.replay_set_aside(set_aside_id=number, actor=actor(request)))
    return redirect("console:set-aside")
