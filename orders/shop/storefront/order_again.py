"""Ordering again what an order was of."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from orders.order_page.visits import Visit, of_an_order
from orders.shop.storefront import cart


@require_POST
@of_an_order
def order_again(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Puts what the order was of into the cart, as far as it is for sale, and shows the cart at present prices."""
    quantities = {line.sku: line.quantity for line in visit.tracked.order.lines}
    added = cart.add_all(request, quantities)
    missing = len(quantities) - added
    if not added:
        messages.warning(request, _("Nothing of this order is for sale any more."))
    elif missing:
        text = ngettext(
            "{count} print of this order isn’t in your cart: it’s no longer for sale, or your cart is full.",
            "{count} prints of this order aren’t in your cart: they’re no longer for sale, or your cart is full.",
            missing,
        )
        messages.warning(request, text.format(count=missing))
    else:
        messages.success(request, _("Everything from this order is in your cart."))
    return redirect("shop:cart")
