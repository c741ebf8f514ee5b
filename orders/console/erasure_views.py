"""Erases everything about a customer, from the page of one of her orders."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from orders.access.levels import ADMINISTER
from orders.console.flash import show_result
from orders.console.forms.orders import TypedForm
from orders.console.guards import act, actor, ask_then_act, needs
from orders.console.order_lookup import read_page
from orders.services.act_results import ResultStatus
from orders.services.operators.erasure import erase as erase_customer

WORD = "erase"


def _email(order_id: UUID) -> str:
    """The email of the order's customer. Raises `Http404` if nothing is stored about one."""
    order = read_page(order_id).detail.order
    if order is None or not order.email:
        raise Http404
    return order.email


def _ask_to_erase(request: HttpRequest, order_id: UUID) -> HttpResponse:
    return _erasure_page(request, order_id, TypedForm(word=WORD))


def _erasure_page(request: HttpRequest, order_id: UUID, form: TypedForm) -> HttpResponse:
    email = _email(order_id)
    preview = erase_customer(email=email, actor=actor(request), dry_run=True)
    context = {
        "console_order": read_page(order_id),
        "email": email,
        "preview": preview.message,
        "can_erase": preview.status is ResultStatus.DONE,
        "form": form,
    }
    return render(request, "console/orders/erase.html", context, status=422 if form.errors else 200)


@act(ADMINISTER, confirmed=True)
def _erase(request: HttpRequest, order_id: UUID) -> HttpResponse:
    form = TypedForm(request.POST, word=WORD)
    if not form.is_valid():
        return _erasure_page(request, order_id, form)
    if form.cleaned_data["typed"].strip().lower() != WORD:
        form.show_refusal("")
        return _erasure_page(request, order_id, form)
    result = erase_customer(email=_email(order_id), actor=actor(request), reason=form.cleaned_data["reason"])
    if result.status is ResultStatus.REFUSED:
        form.show_refusal(result.message)
        return _erasure_page(request, order_id, form)
    show_result(request, result)
    return redirect("console:order", order_id)


erase = ask_then_act(needs(ADMINISTER, require_safe(_ask_to_erase)), _erase)
"""Says what is stored about an order's customer, asks for confirmation, and makes it anonymous."""
