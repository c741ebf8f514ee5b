"""The page of an order: confirmation and tracker, one address. What may be done with the order is done from there.

Every view is reached in two ways: with an order's number by the account that it belongs to, and with a signed token by
whoever has it, for an order of a guest's. All else is answered alike, with 404.
"""

from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parseaddr
from functools import wraps
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from orders.access.guest_links import read_token
from orders.fields import countries
from orders.fields.locales import reader_locale
from orders.selectors import catalogue as shop_selectors
from orders.selectors import order_page as customer_selectors
from orders.selectors.order_page import GUEST, TrackedOrder
from orders.selectors.orders import client_of
from orders.services import customers as customer_services
from orders.services.orders import Act, NoSuchOrderError
from orders.storefront.checkout_form import METHODS, PaymentForm
from orders.storefront.order_address import events_address, order_address
from orders.storefront.progress import Progress, progress
from orders.wording.units import money, spoken_duration

USUAL_KEPT = 60
"""Seconds for which what is usual is not asked again."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An order that somebody may see, and how she came to it."""

    tracked: TrackedOrder
    is_guest: bool
    by: str

    @property
    def id(self) -> UUID:
        return self.tracked.order.id

    @property
    def address(self) -> str:
        return order_address(self.id, is_guest=self.is_guest)


Handler = Callable[[HttpRequest, Asked], HttpResponse]


def of_an_order(handler: Handler) -> Callable[..., HttpResponse]:
    """Gives a view the order that is asked for, or answers 404 with a page that says how to get to one."""

    @wraps(handler)
    def view(request: HttpRequest, order_id: UUID | None = None, token: str = "") -> HttpResponse:
        asked = _asked(request, order_id, token)
        if asked is None:
            sign_in = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': request.path})}"
            return render(request, "storefront/order_hidden.html", {"sign_in": sign_in}, status=404)
        return handler(request, asked)

    return login_not_required(never_cache(view))


def _asked(request: HttpRequest, order_id: UUID | None, token: str) -> Asked | None:
    if order_id is None:
        known = read_token(token)
        tracked = customer_selectors.order_of_guest(order_id=known) if known else None
        return Asked(tracked=tracked, is_guest=True, by=GUEST) if tracked else None
    if not request.user.is_authenticated:
        return None
    customer_id = request.user.pk
    tracked = customer_selectors.order_of_customer(order_id=order_id, customer_id=customer_id)
    return Asked(tracked=tracked, is_guest=False, by=client_of(customer_id)) if tracked else None


@require_safe
@of_an_order
def show_order(request: HttpRequest, asked: Asked) -> HttpResponse:
    """The whole page."""
    tracked = asked.tracked
    sold = shop_selectors.sold([line.sku for line in tracked.order.lines])
    context = {
        "lines": [(line, sold.get(line.sku)) for line in tracked.order.lines],
        "country": countries.name(tracked.ship_to.get("country", "")),
    }
    return render(request, "storefront/order.html", _context(asked) | context)


@require_safe
@of_an_order
def show_progress(request: HttpRequest, asked: Asked) -> HttpResponse:
    """The part of the page that changes, for who asks again and for live updates."""
    return render(request, "storefront/parts/progress.html", _context(asked))


@require_http_methods(["GET", "HEAD", "POST"])
@of_an_order
def cancel(request: HttpRequest, asked: Asked) -> HttpResponse:
    """Asks whether to cancel, and cancels."""
    if request.method != "POST":
        context = _context(asked)
        return render(request, "storefront/cancel.html", context)
    try:
        result = customer_services.cancel(order_id=asked.id, by=asked.by)
    except NoSuchOrderError:
        messages.warning(request, _("Your order has only just arrived. Please try again in a moment."))
        return redirect(asked.address)
    if result.act is Act.REFUSED:
        messages.warning(request, _("It is too late to cancel: the payment is being taken, or is taken."))
    elif result.act is Act.ALREADY:
        messages.info(request, _("Your order was cancelled already."))
    else:
        messages.success(request, _("Your order is being cancelled."))
    return redirect(asked.address)


@require_POST
@of_an_order
def pay(request: HttpRequest, asked: Asked) -> HttpResponse:
    """Has a declined payment tried by another means."""
    form = PaymentForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Please choose how to pay."))
        return redirect(asked.address)
    method = form.cleaned_data["payment_method"]
    try:
        result = customer_services.pay_again(order_id=asked.id, payment_method=method, by=asked.by)
    except NoSuchOrderError:
        messages.warning(request, _("Your order has only just arrived. Please try again in a moment."))
        return redirect(asked.address)
    if result.act is Act.REFUSED:
        messages.warning(request, _("It is too late to pay: the order is being cancelled."))
    elif result.act is Act.ALREADY:
        messages.info(request, _("There is no payment to be made: it was accepted, or is being tried."))
    else:
        messages.success(request, _("Thank you. We are trying the payment again."))
    return redirect(asked.address)


def _context(asked: Asked) -> dict[str, Any]:
    tracked = asked.tracked
    return {
        "order": tracked.order,
        "tracked": tracked,
        "progress": _progress(tracked),
        "address": asked.address,
        "is_guest": asked.is_guest,
        "events": events_address(asked.id, is_guest=asked.is_guest),
        "methods": METHODS.items(),
        "help_address": parseaddr(settings.CONFIG.email_from)[1],
    }


def _progress(tracked: TrackedOrder) -> Progress:
    total, locale = tracked.order.total, reader_locale()
    usual = cache.get_or_set("usual_seconds", lambda: customer_selectors.usual_seconds() or 0.0, USUAL_KEPT)
    return progress(
        tracked,
        now=timezone.now(),
        promised=settings.CONFIG.order_complete_by,
        amount=money(total, locale=locale) if total else "",
        usual=spoken_duration(usual, locale=locale) if usual else "",
    )
