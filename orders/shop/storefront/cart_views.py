"""The pages of the cart. Every button is a POST that leads back to a page, so everything works without JavaScript."""

from urllib.parse import quote

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from orders.access import used_forms
from orders.access.attempts import attempt_of
from orders.shop import catalogue as catalogue_selectors
from orders.shop import pricing
from orders.shop.catalogue import LineProduct
from orders.shop.offers import MOST_OF_ONE
from orders.shop.pictures import line_name
from orders.shop.stock_words import all_in_cart
from orders.shop.storefront import cart
from orders.shop.storefront.cart_forms import AddForm, ChangeForm, PrintForm
from orders.shop.storefront.summary import summary_of


@login_not_required
@require_safe
@never_cache
def show_cart(request: HttpRequest) -> HttpResponse:
    """The cart at current prices. No SQL statement when it is empty: an outage is not a stranger's concern."""
    content = cart.read(request)
    context: dict[str, object] = {"cart": content}
    if content.lines:
        context["summary"] = summary_of(content, "", pricing.tariff(), today=timezone.now().date())
    return render(request, "storefront/cart.html", context)


@login_not_required
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Puts a print into the cart, once for each time that the form is sent."""
    if used_forms.is_used(request.session, attempt_of(request)):
        return redirect("shop:cart")
    form = AddForm(request.POST)
    form.full_clean()
    sold = _for_sale(form)
    if sold is None:
        messages.error(request, _("This print is no longer for sale."))
    elif sold.offer.is_sold_out:
        messages.error(request, _("“{title}” has sold out.").format(title=line_name(sold).whole))
    elif form.errors:
        messages.error(request, str(form.errors["quantity"][0]))
    else:
        _put_in(request, sold, form.cleaned_data["quantity"])
    return redirect("shop:cart")


def _for_sale(form: PrintForm) -> LineProduct | None:
    sku = form.cleaned_data.get("sku", "")
    sold = catalogue_selectors.line_products([sku]).get(sku)
    return sold if sold and sold.is_listed else None


def _put_in(request: HttpRequest, sold: LineProduct, quantity: int) -> None:
    sku, most = sold.offer.sku, sold.offer.most
    quantity_asked = cart.quantities_of(request).get(sku, 0) + quantity
    total = cart.add(request, sku=sku, quantity=quantity, most=most)
    if total is not None:
        used_forms.note(request.session, attempt_of(request))
    if total is not None and quantity_asked > most < MOST_OF_ONE:
        messages.info(request, all_in_cart(most))
    elif total is None:
        text = _("Your cart is full: it holds {most} different prints.")
        messages.error(request, text.format(most=cart.MOST_LINES))
    elif total == MOST_OF_ONE:
        text = _("You now have {most} of this print in your cart, the most you can order.")
        messages.info(request, text.format(most=MOST_OF_ONE))
    else:
        messages.success(request, _("“{title}” is in your cart.").format(title=sold.poster_title))


@login_not_required
@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Changes the quantity of a print in the cart; 0 takes it out."""
    form = ChangeForm(request.POST)
    form.full_clean()
    if "quantity" in form.errors:
        messages.error(request, str(form.errors["quantity"][0]))
    elif not form.errors:
        _set(request, **form.cleaned_data)
        return redirect(f"{reverse('shop:cart')}#line-{quote(form.cleaned_data['sku'])}")
    return redirect("shop:cart")


def _set(request: HttpRequest, *, sku: str, quantity: int) -> None:
    sold = catalogue_selectors.line_products([sku]).get(sku)
    most = sold.offer.most if sold else 0
    now = cart.change(request, sku=sku, quantity=quantity, most=most)
    if sold and now is not None and now < quantity:
        sold_out = _("“{title}” has sold out.").format(title=line_name(sold).whole)
        messages.info(request, all_in_cart(most) if most else sold_out)


@login_not_required
@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """Takes a print out of the cart."""
    form = PrintForm(request.POST)
    if form.is_valid():
        cart.change(request, sku=form.cleaned_data["sku"], quantity=0, most=0)
    return redirect("shop:cart")
