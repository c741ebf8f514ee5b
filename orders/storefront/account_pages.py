"""The pages of who is signed in: the account, its orders, its addresses, its password."""

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

from orders.fields import countries
from orders.selectors import accounts as account_selectors
from orders.selectors.accounts import AddressView, MyOrders
from orders.services import accounts as account_services
from orders.services.accounts import TooManyAddressesError
from orders.storefront.account_entry import form_methods
from orders.storefront.account_forms import AddressForm, ChangePasswordForm
from orders.wording import order_states as order_words

ORDERS_PER_PAGE = 10
LATEST = 3


@login_required
@never_cache
@require_safe
def show_overview(request: HttpRequest) -> HttpResponse:
    """The latest orders, the addresses, and how to sign in."""
    user_id = _user_id(request)
    latest = account_selectors.my_orders(user_id=user_id, limit=LATEST)
    context = {
        "orders": _told(latest),
        "has_more": latest.older is not None,
        "addresses": _named(account_selectors.addresses(user_id)),
    }
    return render(request, "account/overview.html", context)


@login_required
@never_cache
@require_safe
def show_orders(request: HttpRequest) -> HttpResponse:
    """All orders, newest first; `?before=` begins behind an order."""
    before = _uuid(request.GET.get("before", ""))
    found = account_selectors.my_orders(user_id=_user_id(request), limit=ORDERS_PER_PAGE, before=before)
    context = {"orders": _told(found), "older": found.older, "is_first": before is None}
    return render(request, "account/orders.html", context)


@login_required
@never_cache
@sensitive_post_parameters()
@form_methods
def change_password(request: HttpRequest) -> HttpResponse:
    """A new password by who knows the old one. Every other session ends."""
    form = ChangePasswordForm(request.user, request.POST or None)
    if form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(request, _("The new password holds. You have been signed out everywhere else."))
        return redirect("account:overview")
    return render(request, "account/password.html", {"form": form})


@login_required
@never_cache
@require_safe
def show_addresses(request: HttpRequest) -> HttpResponse:
    """The addresses that are kept."""
    addresses = account_selectors.addresses(_user_id(request))
    return render(request, "account/addresses.html", {"addresses": _named(addresses)})


@login_required
@never_cache
@form_methods
def edit_address(request: HttpRequest, address_id: UUID | None = None) -> HttpResponse:
    """Adds an address, or changes one."""
    user_id = _user_id(request)
    kept = account_selectors.address(user_id=user_id, address_id=address_id) if address_id else None
    if address_id and kept is None:
        raise Http404
    form = AddressForm(request.POST or None, initial=_initial(kept))
    if form.is_valid():
        try:
            is_saved = account_services.save_address(
                user_id=user_id, address=form.address, address_id=address_id
            )
        except TooManyAddressesError:
            form.add_error(None, _("You have as many addresses as we can keep. Please delete one first."))
        else:
            if not is_saved:
                raise Http404
            messages.success(request, _("The address is saved."))
            return redirect("account:addresses")
    return render(request, "account/address.html", {"form": form, "address": kept})


@login_required
@never_cache
@require_POST
def delete_address(request: HttpRequest, address_id: UUID) -> HttpResponse:
    """Deletes an address. Orders that went there keep theirs."""
    if not account_services.delete_address(user_id=_user_id(request), address_id=address_id):
        raise Http404
    messages.success(request, _("The address is deleted."))
    return redirect("account:addresses")


def _user_id(request: HttpRequest) -> int:
    number: int = request.user.pk
    return number


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _initial(address: AddressView | None) -> dict[str, Any]:
    if address is None:
        return {"country": "NL"}
    parts = ("name", "street", "postal_code", "city", "country", "is_default")
    return {name: getattr(address, name) for name in parts}


def _told(found: MyOrders) -> list[dict[str, Any]]:
    return [{"mine": mine, "state": order_words.state(mine.order)} for mine in found.orders]


def _named(addresses: Any) -> list[dict[str, Any]]:
    return [{"kept": one, "country": countries.name(one.country)} for one in addresses]
