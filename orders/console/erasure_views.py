"""Erases everything about a customer, from the page of one of her orders."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from orders.access.levels import ADMINISTER, OPERATE
from orders.console.flash import show_result
from orders.console.forms.orders import TypedForm
from orders.console.guards import act, actor, ask_then_act, needs
from orders.console.order_lookup import read_page
from orders.console.presence import beside_others, of_order, present
from orders.selectors.desk.console_order import ConsoleOrder
from orders.services.act_results import ResultStatus
from orders.services.operators.erasure import erase as erase_customer
from orders.services.operators.order_erasure import WORD


def _email(order: ConsoleOrder) -> str:
    """The email of the order's customer. Raises `Http404` if nothing is stored about one."""
    if order.detail.order is None or not order.detail.order.email:
        raise Http404
    return order.detail.order.email


@present(of_order, "order-erase")
def _ask_to_erase(request: HttpRequest, order_id: UUID) -> HttpResponse:
    return erasure_page(request, read_page(order_id), TypedForm(word=WORD))


def erasure_page(request: HttpRequest, order: ConsoleOrder, form: TypedForm) -> HttpResponse:
    """What would be erased, and the form that confirms it. An operator can only ask for it."""
    email = _email(order)
    preview = erase_customer(email=email, actor=actor(request), dry_run=True)
    context = {
        "console_order": order,
        "email": email,
        "preview": preview.message,
        "can_erase": preview.status is ResultStatus.DONE,
        "form": form,
    }
    return render(request, "console/orders/erase.html", context, status=422 if form.errors else 200)


@act(ADMINISTER, confirmed=True)
@beside_others(of_order, "order-erase")
def _erase(request: HttpRequest, order_id: UUID) -> HttpResponse:
    order, form = read_page(order_id), TypedForm(request.POST, word=WORD)
    if not form.is_valid():
        return erasure_page(request, order, form)
    if form.cleaned_data["typed"].strip().lower() != WORD:
        form.show_refusal("")
        return erasure_page(request, order, form)
    result = erase_customer(email=_email(order), actor=actor(request), reason=form.cleaned_data["reason"])
    if result.status is ResultStatus.REFUSED:
        form.show_refusal(result.message)
        return erasure_page(request, order, form)
    show_result(request, result)
    return redirect("console:order", order_id)


erase = ask_then_act(needs(OPERATE, require_safe(_ask_to_erase)), _erase)
"""Says what is stored about an order's customer, asks for confirmation, and makes it anonymous."""
