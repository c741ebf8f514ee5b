"""The checkout: one form and one order, however often its button is pressed.

The session holds a one-time key for what is in the cart, which is the order's Idempotency-Key. Every form of this
session carries it. Sending a form again after its order was placed leads to that order.
"""

import uuid
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from orders.business.intake_pause import is_paused
from orders.business.placing import IntakePausedError, KeyReusedError
from orders.fields import countries
from orders.fields.locales import reader_locale
from orders.fields.prose import close_up
from orders.order_page.addresses import order_url
from orders.selectors import accounts as account_selectors
from orders.selectors import orders as order_selectors
from orders.selectors.tracked_orders import GUEST
from orders.services import customers as customer_services
from orders.shop import pricing, served
from orders.shop.placing import NewLine, NewOrder, as_order, place_order
from orders.shop.pricing import MixedCurrenciesError, NotDeliveredError, UnknownProductError
from orders.shop.storefront import cart
from orders.shop.storefront.cart import Cart
from orders.shop.storefront.checkout_form import METHODS, CheckoutForm
from orders.shop.storefront.summary import Summary, summary_of
from orders.wording.units import money

KEY, PLACED = "checkout_key", "checkout_placed"
REMEMBERED = 10
"""How many of its last orders a session remembers, so that a form that is sent again leads to its order."""


@login_not_required
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def check_out(request: HttpRequest) -> HttpResponse:
    """Shows the form, or places the order."""
    form = CheckoutForm(request.POST) if request.method == "POST" else None
    if form and (url := _url_of_placed(request, form["key"].data)):
        return redirect(url)
    content = cart.read(request)
    if not content.lines:
        return redirect("shop:cart")
    if "update" in request.POST:  # the button for those without JavaScript
        return _show(request, content, CheckoutForm(initial=request.POST.dict()))
    if form:
        return _order(request, content, form)
    if content.has_gone:
        messages.warning(request, _("Something in your cart is no longer for sale. Remove it to continue."))
        return redirect("shop:cart")
    if content.has_short:
        messages.warning(request, close_up(" ".join(content.shortages)))
        return redirect("shop:cart")
    return _show(request, content, CheckoutForm(initial=_initial(request) | {"payment_method": "card_ok"}))


@login_not_required
@never_cache
@require_safe
def show_sum(request: HttpRequest) -> HttpResponse:
    """The part of the checkout that says what the order comes to, for the country that has just been chosen."""
    content = cart.read(request)
    if not content.lines:
        return redirect("shop:cart")
    context = {"summary": _summary(content, request.GET.get("country", ""))}
    return render(request, "storefront/parts/checkout_sum.html", context)


def _summary(content: Cart, country: str) -> Summary:
    offered = country if served.is_offered(country) else ""
    return summary_of(content, offered, pricing.tariff(), today=timezone.now().date())


def _initial(request: HttpRequest) -> dict[str, str]:
    """What a customer does not have to type again: her email address and her default postal address."""
    user = request.user
    if not user.is_authenticated:
        return {}
    addresses = account_selectors.addresses(user.pk)
    return {"email": user.email, **(addresses[0].parts if addresses else {})}


def _show(request: HttpRequest, content: Cart, form: CheckoutForm, *, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {
        "cart": content,
        "summary": _summary(content, form["country"].value() or ""),
        "form": form,
        "key": _key(request),
        "methods": METHODS.items(),
        "is_demonstration": settings.IS_DEMONSTRATION,
        "intake_paused": is_paused(),
        "selected_method": form["payment_method"].value(),
        "sign_in": f"{resolve_url(settings.LOGIN_URL)}?next={request.path}",
    }
    return render(request, "storefront/checkout.html", context, status=status)


def _refuse(request: HttpRequest, form: CheckoutForm, error: IntakePausedError) -> HttpResponse:
    """Says that no orders are taken now. The cart, and what the customer has entered, are kept."""
    answer = _show(request, cart.read(request), form, status=503)
    answer.headers["Retry-After"] = str(error.wait)
    return answer


def _order(request: HttpRequest, content: Cart, form: CheckoutForm) -> HttpResponse:
    if content.has_gone:
        form.add_error(None, _("Something in your cart is no longer for sale. Remove it to continue."))
    elif content.has_short:
        form.add_error(None, close_up(" ".join([*content.shortages, _("Change your cart to continue.")])))
    elif unseen := _unseen(content, form):
        form.add_error(None, unseen)
    client = order_selectors.client_of(request.user.pk) if request.user.is_authenticated else GUEST
    key = _key(request)
    if not form.is_valid():
        # If the answer was lost, its own order may have left too few, or prices have changed since.
        if earlier := customer_services.order_of_key(client=client, key=key):
            return redirect(_remember(request, key, earlier))
        return _show(request, content, form)
    order = _new_order(content, form)
    try:
        if client == GUEST:
            placed_order = customer_services.place_order_as_guest(
                order=as_order(order),
                email=order.email,
                idempotency_key=key,
                language=get_language() or "en",
            )
        else:
            placed_order = place_order(client=client, order=order, idempotency_key=key)
    except IntakePausedError as error:
        return _refuse(request, form, error)
    except (UnknownProductError, MixedCurrenciesError):
        form.add_error(None, _("Something in your cart can no longer be ordered. Check your cart."))
        return _show(request, cart.read(request), form)
    except NotDeliveredError:
        form.add_error("country", _("We don’t deliver there. Choose another country."))
        return _show(request, cart.read(request), form)
    except KeyReusedError as used:
        # Another form of this session was quicker, and its order stands.
        messages.info(request, _("You’ve already placed this order, from another window."))
        return redirect(_remember(request, key, used.order_id))
    return redirect(_remember(request, key, placed_order.order_id))


def _unseen(content: Cart, form: CheckoutForm) -> str:
    """Says that the order would cost something else than its customer has seen; empty if it would not."""
    summary, seen = _summary(content, form["country"].data or ""), form["seen_total"].data
    if summary.total is None or seen == str(summary.total.amount):
        return ""
    if seen:
        return _("The total has changed since you last saw it. Check it before you order.")
    total = money(summary.total, locale=reader_locale())
    words = _("With delivery to {country} your order comes to {total}. Press the button again to order.")
    return words.format(country=countries.name_in_sentence(summary.country), total=total)


def _new_order(content: Cart, form: CheckoutForm) -> NewOrder:
    return NewOrder(
        lines=[NewLine(sku=line.sku, quantity=line.quantity) for line in content.lines],
        ship_to=form.ship_to(),
        email=form.cleaned_data["email"],
        payment_method=form.cleaned_data["payment_method"],
        language=get_language() or "en",
        gift_note=form.cleaned_data["gift_note"],
    )


def _key(request: HttpRequest) -> str:
    """The idempotency key of the order that this session is about to place."""
    if KEY not in request.session:
        request.session[KEY] = f"checkout-{uuid.uuid4()}"
    key: str = request.session[KEY]
    return key


def _remember(request: HttpRequest, key: str, order_id: uuid.UUID) -> str:
    """Empties the cart and remembers the order; returns its URL."""
    cart.empty(request)
    request.session.pop(KEY, None)
    is_guest = not request.user.is_authenticated
    placed = {**request.session.get(PLACED, {}), key: [str(order_id), is_guest]}
    request.session[PLACED] = dict(list(placed.items())[-REMEMBERED:])
    return order_url(order_id, is_guest=is_guest)


def _url_of_placed(request: HttpRequest, key: str | None) -> str | None:
    """The URL of the order that this session placed with this key; None if it placed none."""
    placed = request.session.get(PLACED, {}).get(key)
    return order_url(uuid.UUID(placed[0]), is_guest=placed[1]) if placed else None
