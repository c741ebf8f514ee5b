"""Ordering again what an order was of."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from orders.fields.prose import close_up
from orders.order_page.visits import Visit, of_an_order
from orders.shop.storefront import cart
from orders.shop.storefront.cart import Addition


@require_POST
@of_an_order
def order_again(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Puts what the order was of into the cart, as far as it is for sale and left, and shows the cart."""
    quantities = {line.sku: line.quantity for line in visit.tracked.order.lines}
    addition = cart.add_all(request, quantities)
    if addition.shortages or addition.missing:
        messages.warning(request, close_up(" ".join(_incomplete(addition))))
    else:
        messages.success(request, _("Everything from this order is in your cart."))
    return redirect("shop:cart")


def _incomplete(addition: Addition) -> Sequence[str]:
    """What is said where not everything is in the cart."""
    if not addition.additions and not addition.shortages:
        return [_("Nothing of this order is for sale any more.")]
    text = ngettext(
        "{count} print of this order isn’t in your cart: it’s no longer for sale, or your cart is full.",
        "{count} prints of this order aren’t in your cart: they’re no longer for sale, or your cart is full.",
        addition.missing,
    )
    return [
        *addition.shortages,
        *([text.format(count=addition.missing)] if addition.missing else []),
        *(
            [_("What we have of this order is in your cart.")]
            if addition.additions and addition.shortages and not addition.missing
            else []
        ),
    ]
