"""Paying another way, after a card was declined."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from orders.order_page.visits import Visit, of_an_order
from orders.services import customers as customer_services
from orders.services.act_results import ResultStatus
from orders.services.order_lock import NoSuchOrderError
from orders.shop.storefront.checkout_form import PaymentForm


@require_POST
@of_an_order
def pay(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Retries a declined payment with another payment method."""
    form = PaymentForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose how to pay."))
        return redirect(visit.url)
    method = form.cleaned_data["payment_method"]
    try:
        result = customer_services.resolve(
            order_id=visit.id, changes={"payment_method": method}, by=visit.actor
        )
    except NoSuchOrderError:
        messages.info(request, _("There’s nothing to pay: this order isn’t waiting for a payment."))
        return redirect(visit.url)
    if result.cause is not None:
        messages.warning(request, _("We can’t try another payment just now. Please try again in a moment."))
    elif result.status is ResultStatus.REFUSED:
        messages.warning(request, _("It was too late to pay: the order had been cancelled."))
    elif result.status is ResultStatus.ALREADY:
        messages.info(request, _("There’s nothing to pay: this order isn’t waiting for a payment."))
    else:
        messages.success(request, _("Thank you. We have your new payment method."))
    return redirect(visit.url)
