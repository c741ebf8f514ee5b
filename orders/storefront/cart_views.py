"""The pages of the cart. Every act is a POST that leads back to a page, so that all works without JavaScript."""

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from orders.selectors import catalogue as shop_selectors
from orders.storefront import cart


@login_not_required
@require_safe
@never_cache
def show_cart(request: HttpRequest) -> HttpResponse:
    """The cart, at the prices of this moment."""
    return render(request, "storefront/cart.html", {"cart": cart.read(request), "most": cart.MOST_OF_ONE})


@login_not_required
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Puts a product in: `sku`, and `quantity` (1 without)."""
    sku = request.POST.get("sku", "")[: cart.LONGEST_SKU]
    quantity = _quantity(request.POST.get("quantity", "1"), lowest=1)
    sold = shop_selectors.sold([sku]).get(sku)
    if sold is None or not sold.is_listed:
        messages.error(request, _("This print is no longer for sale."))
        return redirect("shop:cart")
    if quantity is None:
        messages.error(request, _("You can order 1 to 99 of one print."))
    elif (now := cart.add(request, sku=sku, quantity=quantity)) is None:
        messages.error(request, _("Your cart is full: it holds 50 different prints."))
    elif now == cart.MOST_OF_ONE:
        messages.info(request, _("There are now 99 of it in your cart, and that is the most."))
    else:
        messages.success(request, _("“{title}” is in your cart.").format(title=sold.poster_title))
    return redirect("shop:cart")


@login_not_required
@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Changes how many of a product there are: `sku`, and `quantity`; 0 takes it out."""
    quantity = _quantity(request.POST.get("quantity", ""), lowest=0)
    if quantity is None:
        messages.error(request, _("You can order 1 to 99 of one print."))
    else:
        cart.change(request, sku=request.POST.get("sku", ""), quantity=quantity)
    return redirect("shop:cart")


@login_not_required
@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """Takes a product out: `sku`."""
    cart.change(request, sku=request.POST.get("sku", ""), quantity=0)
    return redirect("shop:cart")


def _quantity(text: str, *, lowest: int) -> int | None:
    """The quantity that somebody typed; None when it is none that can be ordered."""
    is_number = text.isascii() and text.isdigit() and len(text) < 5
    return int(text) if is_number and lowest <= int(text) <= cart.MOST_OF_ONE else None
