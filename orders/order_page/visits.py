"""Who may see an order's page.

There are two ways to each view: with the order's number, for the account that it belongs to, and with a signed token,
for whoever has the link to a guest's order. A token that is too old only has a new one sent. One for an order that has
become an account's since leads its owner there, and tells everybody else no more than that. Everything else gets the
same 404.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.views.decorators.cache import never_cache
from structlog.contextvars import bind_contextvars

from orders.access.guest_links import VALID_FOR, read_old_token, read_token
from orders.fields.order_numbers import spoken_number
from orders.order_page.addresses import order_url, token_url
from orders.selectors import tracked_orders
from orders.selectors.orders import client_of
from orders.selectors.tracked_orders import GUEST, TrackedOrder


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


Handler = Callable[..., HttpResponse]


def of_an_order(handler: Handler) -> Callable[..., HttpResponse]:
    """Gives a view the order of its URL, or answers 404 with a page that says how to find an order."""

    @wraps(handler)
    def view(
        request: HttpRequest, order_id: UUID | None = None, token: str = "", **options: str
    ) -> HttpResponse:
        visit = _visit(request, order_id, token)
        if visit is None:
            if accounts_order_id := _order_of_account(token):
                return _in_account(request, accounts_order_id, token)
            if read_old_token(token) is not None:
                renew = reverse("order:guest-renew", args=[token])
                context = {"renew": renew, "days": VALID_FOR.days}
                return render(request, "order/old_link.html", context, status=410)
            return render(request, "order/hidden.html", {"sign_in": _sign_in(request.path)}, status=404)
        return handler(request, visit, **options)

    return login_not_required(never_cache(view))


def _order_of_account(token: str) -> UUID | None:
    """The order that a guest's link is for, if it has become an account's since."""
    order_id = read_token(token) or read_old_token(token)
    is_taken_over = order_id is not None and tracked_orders.belongs_to_account(order_id=order_id)
    return order_id if is_taken_over else None


def _in_account(request: HttpRequest, order_id: UUID, token: str) -> HttpResponse:
    """Leads its owner to the same page of the order. Others who have the link read that it is in an account, and
    nothing else of it."""
    page = order_url(order_id, is_guest=False) + request.path.removeprefix(token_url(token))
    if _visit(request, order_id, "") is not None:
        return redirect(page)
    context = {"number": spoken_number(order_id), "sign_in": _sign_in(page)}
    return render(request, "order/in_account.html", context, status=403)


def _sign_in(following: str) -> str:
    return f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': following})}"


def _visit(request: HttpRequest, order_id: UUID | None, token: str) -> Visit | None:
    if order_id is None:
        guests_order_id = read_token(token)
        if guests_order_id is None:
            return None
        bind_contextvars(order_id=str(guests_order_id))
        tracked = tracked_orders.order_of_guest(order_id=guests_order_id)
        return Visit(tracked=tracked, actor=GUEST, token=token) if tracked else None
    if not request.user.is_authenticated:
        return None
    customer_id = request.user.pk
    tracked = tracked_orders.order_of_customer(order_id=order_id, customer_id=customer_id)
    return Visit(tracked=tracked, actor=client_of(customer_id)) if tracked else None
