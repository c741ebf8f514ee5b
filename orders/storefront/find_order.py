"""Finding an order again without an account: its number and mail address, and the link comes by mail."""

from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders.services import customers as customer_services
from orders.storefront.order_address import order_address


class FindForm(forms.Form):
    """What a guest knows of an order."""

    number = forms.UUIDField(
        label=lazy("Order number"),
        error_messages={
            "required": lazy("Please give the order’s number."),
            "invalid": lazy("This is not a whole order number."),
        },
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off", "spellcheck": "false"}),
    )
    email = forms.EmailField(
        label=lazy("E-mail"),
        max_length=254,
        error_messages={
            "required": lazy("Please give the e-mail address of the order."),
            "invalid": lazy("This is not a whole e-mail address."),
        },
        widget=forms.EmailInput(attrs={"class": "input", "autocomplete": "email", "spellcheck": "false"}),
    )


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def find_order(request: HttpRequest) -> HttpResponse:
    """Has the link mailed. The answer is the same whether there is such an order or not."""
    form = FindForm(request.POST if request.method == "POST" else None)
    is_asked = request.method == "POST" and form.is_valid()
    if is_asked:
        number: UUID = form.cleaned_data["number"]
        link = request.build_absolute_uri(order_address(number, is_guest=True))
        customer_services.ask_for_link(order_id=number, email=form.cleaned_data["email"], link=link)
    return render(request, "storefront/find_order.html", {"form": form, "is_asked": is_asked})
