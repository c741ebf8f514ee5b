"""Finding an order again without an account: a guest gives its number and her email, and gets the link by email."""

from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders.services import customers as customer_services
from orders.shop.storefront.form_fields import EmailField, ShopForm


class FindOrderForm(ShopForm):
    """What a guest knows about her order."""

    number = forms.UUIDField(
        label=lazy("Order number"),
        error_messages={
            "required": lazy("Enter your order number."),
            "invalid": lazy("Enter the full order number, with all its letters and digits."),
        },
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    email = EmailField(
        label=lazy("Email"), error_messages={"required": lazy("Enter the email address you ordered with.")}
    )


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def find_order(request: HttpRequest) -> HttpResponse:
    """Requests the email with the link. The answer is the same whether or not the order exists."""
    form = FindOrderForm(request.POST if request.method == "POST" else None)
    is_sent = request.method == "POST" and form.is_valid()
    if is_sent:
        number: UUID = form.cleaned_data["number"]
        customer_services.ask_for_link(
            order_id=number,
            email=form.cleaned_data["email"],
            language=get_language() or "en",
        )
    return render(request, "storefront/find_order.html", {"form": form, "is_sent": is_sent})
