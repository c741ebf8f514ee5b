"""Ordering again what an order was of."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from orders.access import used_forms
from orders.access.attempts import attempt_of
from orders.fields.prose import close_up
from orders.order_page.visits import Visit, of_an_order
from orders.shop.storefront import cart
from orders.shop.storefront.cart import Addition, CartLine


@require_POST
@of_an_order
def order_again(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Puts what the order was of into the cart, as far as it is for sale and left, and shows the cart; once for each
    time that the form is sent."""
    if used_forms.is_used(request.session, attempt_of(request)):
        return redirect("shop:cart")
    quantities = {line.sku: line.quantity for line in visit.tracked.order.lines}
    addition = cart.add_all(request, quantities)
    if addition.additions:
        used_forms.note(request.session, attempt_of(request))
    if incomplete := _incomplete(addition):
        messages.warning(request, close_up(" ".join(incomplete)))
    else:
        messages.success(request, _("Everything from this order is in your cart."))
    return redirect("shop:cart")


def _incomplete(addition: Addition) -> Sequence[str]:
    """What is said where not everything is in the cart."""
    sentences = [
        *addition.shortages,
        *([_gone(addition)] if addition.withdrawals else []),
        *map(_capped, addition.capped),
        *([_unplaced(addition.unplaced)] if addition.unplaced else []),
    ]
    if sentences and addition.additions:
        all_we_have, rest = (
            _("What we have of this order is in your cart."),
            _("The rest of this order is in your cart."),
        )
        sentences.append(rest if addition.unplaced or addition.capped else all_we_have)
    return sentences


def _gone(addition: Addition) -> str:
    if not (addition.additions or addition.unplaced or addition.shortages):
        return _("Nothing of this order is for sale any more.")
    return ngettext(
        "{count} print of this order is no longer for sale.",
        "{count} prints of this order are no longer for sale.",
        addition.withdrawals,
    ).format(count=addition.withdrawals)


def _capped(line: CartLine) -> str:
    text = _("You now have {count} of “{title}” in your cart, the most you can order.")
    return text.format(count=line.quantity, title=line.title)


def _unplaced(count: int) -> str:
    return ngettext(
        "Your cart is full: it holds {most} different prints, and {count} print of this order isn’t in it.",
        "Your cart is full: it holds {most} different prints, and {count} prints of this order aren’t in it.",
        count,
    ).format(most=cart.MOST_LINES, count=count)
