"""Settling a step by hand: an admin does it, an operator asks for it."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from orders.access.levels import ADMINISTER, OPERATE
from orders.business import editing
from orders.console.flash import show_result
from orders.console.forms.settling import COMPENSATED, DONE, SettleForm
from orders.console.guards import act, actor, ask_then_act, needs
from orders.console.order_lookup import read_page, readable_json, step_named
from orders.console.presence import beside_others, of_order, present
from orders.selectors.desk.console_order import ConsoleOrder
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approval_acts, approvals, settling
from orders.services.order_lock import NoSuchOrderError
from orders.vocabulary import ApprovalAct, Goal

OUTCOMES = {DONE: approval_acts.DONE, COMPENSATED: approval_acts.COMPENSATED}


@present(of_order, "step-settle")
def _ask_to_settle(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    order = read_page(order_id)
    return _settle_page(request, order, step, _settle_form(order, step))


def _settle_form(order: ConsoleOrder, name: str, data: QueryDict | None = None) -> SettleForm:
    step, facts = step_named(order, name), order.detail.order
    assert facts is not None
    return SettleForm(
        data,
        is_compensation=_is_compensation(order),
        fields=editing.result_fields(facts.workflow, facts.version, name),
        finding=step.inquiry.detail if step.inquiry else None,
        answer=step.answer,
    )


def _is_compensation(order: ConsoleOrder) -> bool:
    return order.detail.order is not None and order.detail.order.goal == Goal.COMPENSATE


def _settle_page(request: HttpRequest, order: ConsoleOrder, step: str, form: SettleForm) -> HttpResponse:
    context = {
        "console_order": order,
        "step": step_named(order, step),
        "is_compensation": _is_compensation(order),
        "answer": readable_json(step_named(order, step).answer),
        "form": form,
    }
    return render(request, "console/orders/settle.html", context, status=422 if form.errors else 200)


def _take(request: HttpRequest, order_id: UUID, step: str, *, is_asked_for: bool) -> HttpResponse:
    order = read_page(order_id)
    form = _settle_form(order, step, request.POST)
    if not form.is_valid():
        return _settle_page(request, order, step, form)
    take = _ask if is_asked_for else _settle_as
    try:
        result = take(form.cleaned_data, actor(request), order_id, step)
    except NoSuchOrderError as error:
        raise Http404 from error
    if result.status is ResultStatus.REFUSED:
        form.add_error(None, result.message)
        return _settle_page(request, order, step, form)
    show_result(request, result)
    return redirect("console:order", order_id)


def _settle_as(values: dict[str, Any], operator: Actor, order_id: UUID, step: str) -> Result:
    reason = values["reason"]
    if values["how"] == COMPENSATED:
        return settling.settle_compensated(order_id=order_id, step=step, actor=operator, reason=reason)
    if values["how"] == DONE:
        return settling.settle_done(
            order_id=order_id, step=step, actor=operator, reason=reason, result=values["result"]
        )
    return settling.settle_not_done(order_id=order_id, step=step, actor=operator, reason=reason)


def _ask(values: dict[str, Any], operator: Actor, order_id: UUID, step: str) -> Result:
    outcome = OUTCOMES.get(values["how"], approval_acts.NOT_DONE)
    parameters = {
        "order_id": str(order_id),
        "step": step,
        "outcome": outcome,
        "result": values["result"] if outcome == approval_acts.DONE else {},
    }
    return approvals.ask(
        act=ApprovalAct.SETTLE, parameters=parameters, actor=operator, reason=values["reason"]
    ).result


@act(ADMINISTER, confirmed=True)
@beside_others(of_order, "step-settle")
def _settle(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    return _take(request, order_id, step, is_asked_for=False)


settle = ask_then_act(needs(OPERATE, require_safe(_ask_to_settle)), _settle)
"""Asks whether a step was done, with the proof, and records the answer."""


@act(OPERATE)
def ask_for_settlement(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    """Asks an admin to settle a step as the form says."""
    return _take(request, order_id, step, is_asked_for=True)
