"""The acts on one order from its page. A view parses, makes one call to a service, and shows the result."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from orders.access.levels import OPERATE
from orders.console import kept_forms
from orders.console.flash import message_of_a_wait, show_result
from orders.console.forms.alerts import NoteForm
from orders.console.forms.fields import ReasonForm, first_error
from orders.console.forms.orders import DecisionForm, PauseForm, PriorityForm, RetryForm, TypedForm
from orders.console.guards import act, actor, ask_then_act, needs, previous_page
from orders.console.order_lookup import read_anywhere, read_page, step_named
from orders.console.presence import beside_others, of_order, present
from orders.selectors.desk.confirmation import confirmation
from orders.selectors.desk.console_order import ConsoleOrder
from orders.selectors.desk.decisions import has_order_compensated
from orders.selectors.desk.refund_approval import refund_to_approve
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approvals, deciding, order_acts, order_notes, pausing_orders
from orders.services.operators import bulk as bulk_services
from orders.services.operators.bulk import NotInErrorError
from orders.services.order_lock import NoSuchOrderError
from orders.vocabulary import ApprovalAct
from orders.wording.cancelling import cancel_words


def _act(
    request: HttpRequest, order_id: UUID, form: forms.Form, call: Callable[[], Result], *, beside: str = ""
) -> HttpResponse:
    """Makes the call if the form is valid, and returns to the order with the result, or with what is wrong.

    `beside` is the part of the page where the act is, if the page shows the result there.
    """
    kept_forms.answer(request, f"{type(form).__name__} {order_id}", form, lambda: _call(call), beside=beside)
    page = reverse("console:order", args=[order_id])
    return redirect(f"{page}#{beside}" if beside else page)


def _call(call: Callable[[], Result]) -> Result:
    try:
        return call()
    except NoSuchOrderError as error:
        raise Http404 from error


@act(OPERATE)
@beside_others(of_order)
def resubmit(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Resubmits an order in ten seconds, during which it can be undone."""
    form = ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, first_error(form))
        return redirect("console:order", order_id)
    try:
        action = bulk_services.resubmit_one(
            order_id=order_id, actor=actor(request), reason=form.cleaned_data["reason"]
        )
    except NoSuchOrderError as error:
        raise Http404 from error
    except NotInErrorError as error:
        messages.info(request, str(error))
    else:
        messages.success(request, message_of_a_wait("The order will be resubmitted", action.starts_at))
    came_from = previous_page(request)
    is_rehearsal = urlsplit(came_from).path == reverse("console:order-rehearsal", args=[order_id])
    return redirect(reverse("console:order", args=[order_id]) if is_rehearsal else came_from)


@act(OPERATE)
def retry(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Retries now what is waiting for a retry."""
    form, operator = RetryForm(request.POST), actor(request)
    return _act(
        request,
        order_id,
        form,
        lambda: order_acts.retry_now(order_id=order_id, step=form.cleaned_data["step"], actor=operator),
    )


@act(OPERATE)
def pause(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Pauses an order, until a time or until somebody resumes it."""
    form, operator = PauseForm(request.POST), actor(request)
    return _act(
        request,
        order_id,
        form,
        lambda: pausing_orders.pause_order(
            order_id=order_id, actor=operator, reason=form.cleaned_data["reason"], until=form.until(now())
        ),
    )


@act(OPERATE)
def resume(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Lets a paused order continue."""
    show_result(request, _call(lambda: pausing_orders.resume_order(order_id=order_id, actor=actor(request))))
    return redirect("console:order", order_id)


@act(OPERATE)
def set_priority(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Changes an order's priority."""
    form, operator = PriorityForm(request.POST), actor(request)
    return _act(
        request,
        order_id,
        form,
        lambda: order_acts.set_priority(order_id=order_id, actor=operator, **form.cleaned_data),
    )


@act(OPERATE)
def add_note(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Adds a note to an order."""
    form, operator = NoteForm(request.POST), actor(request)
    return _act(
        request,
        order_id,
        form,
        lambda: order_notes.add_note(order_id=order_id, text=form.cleaned_data["text"], actor=operator),
        beside="note",
    )


@act(OPERATE)
def replay(request: HttpRequest, number: int) -> HttpResponse:
    """Puts a submission that was set aside back on the queue."""
    show_result(request, order_acts.replay_set_aside(set_aside_id=number, actor=actor(request)))
    return redirect("console:set-aside")


@act(OPERATE)
def decide(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    """Decides for a step that waits for a person, or asks to confirm a choice that has the order compensated."""
    form, operator = DecisionForm(request.POST, step=step), actor(request)
    if form.is_valid():
        choice, reason = form.cleaned_data["choice"], form.cleaned_data["reason"]
        if has_order_compensated(order_id=order_id, step=step, choice=choice):
            url = reverse("console:step-decide-confirmed", args=[order_id, step])
            return redirect(f"{url}?{urlencode({'choice': choice, 'reason': reason})}")
    return _act(
        request,
        order_id,
        form,
        lambda: deciding.decide(
            order_id=order_id,
            step=step,
            choice=form.cleaned_data["choice"],
            note=form.cleaned_data["reason"],
            actor=operator,
        ),
    )


@present(of_order, "step-decide-confirmed")
def _ask_to_confirm_decision(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    form = TypedForm(word=confirmation(order_id).typed, reason=request.GET.get("reason", ""))
    return _decision_page(request, order_id, step, form)


def _decision_page(request: HttpRequest, order_id: UUID, step: str, form: TypedForm) -> HttpResponse:
    order, choice = read_page(order_id), request.GET.get("choice", "")
    shown, terms = step_named(order, step), confirmation(order_id)
    context = {
        "console_order": order,
        "step": shown,
        "choice": choice,
        "is_open": choice in [candidate.name for candidate in shown.compensating_choices],
        "cancel": cancel_words(terms.back, is_certain=order.is_certain),
        "needs_approval": refund_to_approve(order_id) is not None,
        "form": form,
    }
    return render(request, "console/orders/decide.html", context, status=422 if form.errors else 200)


@act(OPERATE, confirmed=True)
@beside_others(of_order, "step-decide-confirmed")
def _decide_confirmed(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    form, operator = TypedForm(request.POST, word=confirmation(order_id).typed), actor(request)
    if form.is_valid():
        note, typed = form.cleaned_data["reason"], form.cleaned_data["typed"]
        choice = request.GET.get("choice", "")
        result = _call(
            lambda: _decide_or_ask(order_id, step, choice=choice, note=note, typed=typed, operator=operator)
        )
        if result.status is not ResultStatus.REFUSED:
            show_result(request, result)
            return redirect("console:order", order_id)
        form.show_refusal(result.message)
    return _decision_page(request, order_id, step, form)


def _decide_or_ask(
    order_id: UUID, step: str, *, choice: str, note: str, typed: str, operator: Actor
) -> Result:
    is_compensating = has_order_compensated(order_id=order_id, step=step, choice=choice)
    if not is_compensating or refund_to_approve(order_id) is None:
        return deciding.decide(
            order_id=order_id, step=step, choice=choice, note=note, typed=typed, actor=operator
        )
    return approvals.ask(
        act=ApprovalAct.DECIDE,
        parameters={"order_id": str(order_id), "step": step, "choice": choice},
        actor=operator,
        reason=note,
        typed=typed,
    ).result


decide_confirmed = ask_then_act(needs(OPERATE, require_safe(_ask_to_confirm_decision)), _decide_confirmed)
"""Explains that a choice has the order compensated, asks for confirmation, and decides."""


@present(of_order, "step-skip")
def _ask_to_skip(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    return _skip_page(request, read_page(order_id), step, TypedForm(word=step))


def _skip_page(request: HttpRequest, order: ConsoleOrder, step: str, form: TypedForm) -> HttpResponse:
    context = {"console_order": order, "step": step_named(order, step), "form": form}
    return render(request, "console/orders/skip.html", context, status=422 if form.errors else 200)


@act(OPERATE)
@beside_others(of_order, "step-skip")
def _skip(request: HttpRequest, order_id: UUID, step: str) -> HttpResponse:
    form, operator = TypedForm(request.POST, word=step), actor(request)
    if form.is_valid():
        values = form.cleaned_data
        result = _call(lambda: order_acts.skip(order_id=order_id, step=step, actor=operator, **values))
        if result.status is not ResultStatus.REFUSED:
            show_result(request, result)
            return redirect("console:order", order_id)
        form.show_refusal(result.message)
    return _skip_page(request, read_page(order_id), step, form)


skip = ask_then_act(needs(OPERATE, require_safe(_ask_to_skip)), _skip)
"""Asks for a reason and for the step's name, and skips the step."""


@present(of_order, "order-compensate")
def _ask_to_compensate(request: HttpRequest, order_id: UUID) -> HttpResponse:
    return _compensate_page(request, order_id, TypedForm(word=confirmation(order_id).typed))


def _compensate_page(request: HttpRequest, order_id: UUID, form: TypedForm) -> HttpResponse:
    terms, order = confirmation(order_id), read_anywhere(order_id)
    context = {
        "console_order": order,
        "cancel": cancel_words(terms.back, is_certain=order.is_certain),
        "needs_approval": refund_to_approve(order_id) is not None,
        "form": form,
    }
    status = 422 if form.errors else 200
    return render(request, "console/orders/compensate.html", context, status=status)


@act(OPERATE, confirmed=True)
@beside_others(of_order, "order-compensate")
def _compensate(request: HttpRequest, order_id: UUID) -> HttpResponse:
    form, operator = TypedForm(request.POST, word=confirmation(order_id).typed), actor(request)
    if form.is_valid():
        values = form.cleaned_data
        result = _call(lambda: _compensate_or_ask(order_id, operator, values))
        if result.status is not ResultStatus.REFUSED:
            show_result(request, result)
            return redirect("console:order", order_id)
        form.show_refusal(result.message)
    return _compensate_page(request, order_id, form)


def _compensate_or_ask(order_id: UUID, operator: Actor, values: dict[str, Any]) -> Result:
    if refund_to_approve(order_id) is None:
        return order_acts.compensate(order_id=order_id, actor=operator, **values)
    return approvals.ask(
        act=ApprovalAct.COMPENSATE, parameters={"order_id": str(order_id)}, actor=operator, **values
    ).result


compensate = ask_then_act(needs(OPERATE, require_safe(_ask_to_compensate)), _compensate)
"""Explains what compensating an order means, asks for confirmation, and compensates the order."""
