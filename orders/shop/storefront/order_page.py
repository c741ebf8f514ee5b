"""The page of an order: its confirmation and its tracker, under one URL, with everything that its customer can do.

There are two ways to each view: with the order's number, for the account that it belongs to, and with a signed token,
for whoever has the link to a guest's order. A token that is too old only has a new one sent. Everything else gets the
same 404.
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
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from orders.access.guest_links import read_old_token, read_token
from orders.fields import countries
from orders.fields.locales import reader_locale
from orders.selectors import tracked_orders
from orders.selectors.orders import client_of
from orders.selectors.tracked_orders import GUEST, TrackedOrder
from orders.services import customers as customer_services
from orders.services.act_results import ResultStatus
from orders.services.order_lock import NoSuchOrderError
from orders.shop import catalogue as catalogue_selectors
from orders.shop.description import ship_to
from orders.shop.storefront.checkout_form import METHODS, PaymentForm
from orders.shop.storefront.order_url import events_url, order_url, token_url
from orders.wording.customers.progress import Progress, progress

USUAL_CACHED = 60
"""Seconds for which the usual time of an order is cached."""


@dataclass(frozen=True, kw_only=True)
class Visit:
    """An order that the visitor may see, how she got to it, and the actor that her acts are recorded under.

    A guest's `token` is the one that she came with, so that no visit makes it last longer.
    """

    tracked: TrackedOrder
    actor: str
    token: str = ""

    @property
    def is_guest(self) -> bool:
        return bool(self.token)

    @property
    def id(self) -> UUID:
        return self.tracked.order.id

    @property
    def url(self) -> str:
        return token_url(self.token) if self.token else order_url(self.id, is_guest=False)


Handler = Callable[[HttpRequest, Visit], HttpResponse]


def of_an_order(handler: Handler) -> Callable[..., HttpResponse]:
    """Gives a view the order of its URL, or answers 404 with a page that says how to find an order."""

    @wraps(handler)
    def view(request: HttpRequest, order_id: UUID | None = None, token: str = "") -> HttpResponse:
        visit = _visit(request, order_id, token)
        if visit is None:
            if read_old_token(token) is not None:
                renew = reverse("shop:guest-order-renew", args=[token])
                return render(request, "storefront/old_link.html", {"renew": renew}, status=410)
            sign_in = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': request.path})}"
            return render(request, "storefront/order_hidden.html", {"sign_in": sign_in}, status=404)
        return handler(request, visit)

    return login_not_required(never_cache(view))


def _visit(request: HttpRequest, order_id: UUID | None, token: str) -> Visit | None:
    if order_id is None:
        guests_order_id = read_token(token)
        if guests_order_id is None:
            return None
        tracked = tracked_orders.order_of_guest(order_id=guests_order_id)
        return Visit(tracked=tracked, actor=GUEST, token=token) if tracked else None
    if not request.user.is_authenticated:
        return None
    customer_id = request.user.pk
    tracked = tracked_orders.order_of_customer(order_id=order_id, customer_id=customer_id)
    return Visit(tracked=tracked, actor=client_of(customer_id)) if tracked else None


@login_not_required
@never_cache
@require_POST
def renew_link(request: HttpRequest, token: str) -> HttpResponse:
    """Has a new link sent to the email address of the order that an old one was for.

    The answer is the same whatever became of the order.
    """
    order_id = read_old_token(token)
    if order_id is not None:
        customer_services.renew_link(order_id=order_id, language=get_language() or "en")
    return render(request, "storefront/old_link.html", {"is_sent": True})


@require_safe
@of_an_order
def show_order(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The whole page."""
    tracked = visit.tracked
    address = ship_to(tracked.data)
    sold = catalogue_selectors.line_products([line.sku for line in tracked.order.lines])
    context = {
        "lines": [(line, sold.get(line.sku)) for line in tracked.order.lines],
        "ship_to": address,
        "country": countries.name(address.get("country", "")),
    }
    return render(request, "storefront/order.html", _context(visit) | context)


@require_safe
@of_an_order
def show_progress(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The part of the page that changes, for live updates and polling."""
    return render(request, "storefront/parts/progress.html", _context(visit))


@require_http_methods(["GET", "HEAD", "POST"])
@of_an_order
def cancel(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Asks for confirmation, or cancels the order."""
    if request.method != "POST":
        context = _context(visit)
        return render(request, "storefront/cancel.html", context)
    try:
        result = customer_services.cancel(order_id=visit.id, by=visit.actor)
    except NoSuchOrderError:
        if visit.tracked.order.is_archived:
            messages.warning(request, _("It’s too late to cancel: this order was finished long ago."))
            return redirect(visit.url)
        messages.warning(request, _("Your order has only just reached us. Please try again in a moment."))
        return redirect(visit.url)
    if result.status is ResultStatus.REFUSED:
        messages.warning(request, _("It’s too late to cancel: we’re already taking the payment."))
    elif result.status is ResultStatus.ALREADY:
        messages.info(request, _("This order has already been cancelled."))
    else:
        messages.success(request, _("We’re cancelling your order."))
    return redirect(visit.url)


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
        if visit.tracked.order.is_archived:
            messages.info(request, _("There’s nothing to pay: this order was finished long ago."))
            return redirect(visit.url)
        messages.warning(request, _("Your order has only just reached us. Please try again in a moment."))
        return redirect(visit.url)
    if result.status is ResultStatus.REFUSED:
        messages.warning(request, _("It’s too late to pay: this order is being cancelled."))
    elif result.status is ResultStatus.ALREADY:
        messages.info(request, _("There’s nothing to pay: your payment was accepted or is being tried."))
    else:
        messages.success(request, _("Thank you. We’re trying your payment again."))
    return redirect(visit.url)


def _context(visit: Visit) -> dict[str, Any]:
    tracked = visit.tracked
    return {
        "order": tracked.order,
        "tracked": tracked,
        "progress": _progress(tracked),
        "order_url": visit.url,
        "is_guest": visit.is_guest,
        "events_url": events_url(visit.id, token=visit.token),
        "methods": METHODS.items(),
        "is_demonstration": settings.DEBUG,
        "help_email": parseaddr(settings.CONFIG.email_from)[1],
    }


def _progress(tracked: TrackedOrder) -> Progress:
    usual = cache.get_or_set("usual_seconds", tracked_orders.usual_seconds, USUAL_CACHED) or {}
    seconds = usual.get(tracked.order.workflow)
    return progress(tracked, now=timezone.now(), locale=reader_locale(), usual=seconds)
