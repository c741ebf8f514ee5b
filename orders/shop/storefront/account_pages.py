"""The pages of a customer who is signed in: her account, orders, addresses and password."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from orders.access import used_forms
from orders.access.attempts import attempt_of, is_repeated
from orders.fields import countries
from orders.fields.address_rules import address_lines
from orders.selectors import accounts as account_selectors
from orders.selectors.accounts import AddressView
from orders.selectors.customer_order import CustomerOrder
from orders.services import accounts as account_services
from orders.services.accounts import NewAddress, TooManyAddressesError
from orders.shop import my_orders
from orders.shop.my_orders import MyOrders
from orders.shop.storefront.account_entry import form_methods
from orders.shop.storefront.account_forms import AddressForm, ChangePasswordForm, OlderOrdersForm
from orders.wording.customers.situations import listed_status

ORDERS_PER_PAGE = 10
LATEST = 3


@login_required
@never_cache
@require_safe
def show_overview(request: HttpRequest) -> HttpResponse:
    """The latest orders and the addresses."""
    user_id = _user_id(request)
    latest = my_orders.my_orders(user_id=user_id, limit=LATEST)
    context = {
        "orders": _with_states(latest),
        "has_more": latest.older is not None,
        "addresses": _as_written(account_selectors.addresses(user_id)),
    }
    return render(request, "account/overview.html", context)


@login_required
@never_cache
@require_safe
def show_orders(request: HttpRequest) -> HttpResponse:
    """All orders, newest first; `?before=` is where the list starts."""
    before = OlderOrdersForm(request.GET).position
    orders = my_orders.my_orders(user_id=_user_id(request), limit=ORDERS_PER_PAGE, before=before)
    older = str(orders.older) if orders.older else None
    context = {"orders": _with_states(orders), "older": older, "is_first": before is None}
    return render(request, "account/orders.html", context)


@login_required
@never_cache
@sensitive_post_parameters()
@form_methods
def change_password(request: HttpRequest) -> HttpResponse:
    """Changes the password of a customer who knows the old one. Every other session ends."""
    form = ChangePasswordForm(request.user, request.POST or None)
    if form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(
            request, _("Your password has been changed. You’ve been signed out everywhere else.")
        )
        return redirect("account:overview")
    return render(request, "account/password.html", {"form": form})


@login_required
@never_cache
@require_safe
def show_addresses(request: HttpRequest) -> HttpResponse:
    """The saved addresses."""
    addresses = account_selectors.addresses(_user_id(request))
    return render(request, "account/addresses.html", {"addresses": _as_written(addresses)})


@login_required
@never_cache
@form_methods
def edit_address(request: HttpRequest, address_id: UUID | None = None) -> HttpResponse:
    """Adds an address or changes one."""
    user_id = _user_id(request)
    saved = account_selectors.address(user_id=user_id, address_id=address_id) if address_id else None
    if address_id and saved is None:
        raise Http404
    form = AddressForm(request.POST or None, initial=_initial(saved))
    if form.is_valid():
        try:
            is_saved = _save(request, form.address, address_id)
        except TooManyAddressesError:
            form.add_error(None, _("You’ve saved as many addresses as we can keep. Delete one first."))
        else:
            if not is_saved:
                raise Http404
            messages.success(request, _("Your address has been saved."))
            return redirect("account:addresses")
    return render(request, "account/address.html", {"form": form, "address": saved})


def _save(request: HttpRequest, address: NewAddress, address_id: UUID | None) -> bool:
    """Saves an address; adds it once for each time that the form is sent."""
    user_id = _user_id(request)
    if address_id is not None:
        return account_services.save_address(user_id=user_id, address=address, address_id=address_id)
    with used_forms.taking(request.session, attempt_of(request)) as is_first:  # type: ignore[arg-type]  # `SESSION_ENGINE`
        if is_first:
            account_services.save_address(user_id=user_id, address=address)
    return True


@login_required
@never_cache
@require_POST
def delete_address(request: HttpRequest, address_id: UUID) -> HttpResponse:
    """Deletes an address. Orders that were sent there keep it."""
    is_deleted = account_services.delete_address(user_id=_user_id(request), address_id=address_id)
    if not is_deleted and is_repeated(request):  # it was deleted the first time
        return redirect("account:addresses")
    if not is_deleted:
        raise Http404
    messages.success(request, _("Your address has been deleted."))
    return redirect("account:addresses")


def _user_id(request: HttpRequest) -> int:
    assert request.user.pk is not None, "the view requires that somebody is signed in"
    return request.user.pk


def _initial(address: AddressView | None) -> dict[str, Any]:
    if address is None:
        return {"country": "NL"}
    return {**address.parts, "is_default": address.is_default}


def _with_states(orders: MyOrders) -> list[dict[str, Any]]:
    return [
        {
            "my_order": my_order,
            "title": _title(my_order.order),
            "status": listed_status(my_order.order),
        }
        for my_order in orders.orders
    ]


def _title(order: CustomerOrder) -> str:
    """What an order is called in a list: its first two lines."""
    titles = ", ".join(line.title for line in order.lines[:2]) or _("Order")
    return f"{titles} …" if len(order.lines) > 2 else titles


def _as_written(addresses: Sequence[AddressView]) -> list[dict[str, Any]]:
    return [
        {
            "saved": address,
            "lines": address_lines(
                {**address.parts, "name": ""}, country_name=countries.name(address.parts["country"])
            ),
        }
        for address in addresses
    ]
