"""Ordering again what an order was of."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from orders.order_page.visits import Visit, of_an_order
from orders.shop.storefront import cart
from orders.shop.storefront.cart import Added


@require_POST
@of_an_order
def order_again(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Puts what the order was of into the cart, as far as it is for sale and left, and shows the cart."""
    quantities = {line.sku: line.quantity for line in visit.tracked.order.lines}
    added = cart.add_all(request, quantities)
    if added.shortages or added.missing:
        messages.warning(request, " ".join(_incomplete(added)))
    else:
        messages.success(request, _("Everything from this order is in your cart."))
    return redirect("shop:cart")


def _incomplete(added: Added) -> Sequence[str]:
    """What is said where not everything is in the cart."""
    if not added.in_cart and not added.shortages:
        return [_("Nothing of this order is for sale any more.")]
    text = ngettext(
        "{count} print of this order isn’t in your cart: it’s no longer for sale, or your cart is full.",
        "{count} prints of this order aren’t in your cart: they’re no longer for sale, or your cart is full.",
        added.missing,
    )
    return [
        *added.shortages,
        *([text.format(count=added.missing)] if added.missing else []),
        *([_("What we have of this order is in your cart.")] if added.in_cart and added.shortages else []),
    ]
