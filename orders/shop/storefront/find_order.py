"""Finding an order again without an account: a guest gives its number and her email, and gets the link by email."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders.access import limited_requests
from orders.access.attempts import attempt_of
from orders.fields.order_numbers import EXAMPLE, MistakenNumberError, read_number
from orders.services import customers as customer_services
from orders.shop.project_settings import EMAILS
from orders.shop.storefront.form_fields import EmailField, ShopForm


class NumberField(forms.CharField):
    """The number of an order, or its id, which emails of earlier releases called the number."""

    widget = forms.TextInput(
        attrs={
            "autocomplete": "off",
            "autocapitalize": "characters",
            "spellcheck": "false",
            "placeholder": EXAMPLE,
        }
    )
    default_error_messages = {
        "required": lazy("Enter your order number."),
        "invalid": lazy("Enter the full order number: eight letters and digits."),
        "mistaken": lazy(
            "That number has a mistake in it. Check it against your confirmation, letter by letter."
        ),
    }

    def clean(self, value: Any) -> str | UUID:
        text: str = super().clean(value)
        try:
            return read_number(text) or UUID(text)
        except MistakenNumberError as error:
            raise ValidationError(self.error_messages["mistaken"], code="mistaken") from error
        except ValueError as error:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from error


class FindOrderForm(ShopForm):
    """What a guest knows about her order."""

    number = NumberField(label=lazy("Order number"))
    email = EmailField(
        label=lazy("Email"), error_messages={"required": lazy("Enter the email address you ordered with.")}
    )


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def find_order(request: HttpRequest) -> HttpResponse:
    """Requests the email with the link. The answer is the same whether or not the order exists.

    Only a form without a mistake counts for the limits of emails, since no other has one sent.
    """
    form = FindOrderForm(request.POST if request.method == "POST" else None)
    is_sent = request.method == "POST" and form.is_valid()
    if is_sent:
        too_often = limited_requests.count(request, EMAILS)
        if too_often is not None:
            return too_often
        _ask_for_link(
            form.cleaned_data["number"], email=form.cleaned_data["email"], attempt=attempt_of(request)
        )
    return render(request, "storefront/find_order.html", {"form": form, "is_sent": is_sent})


def _ask_for_link(number: str | UUID, *, email: str, attempt: str) -> None:
    language = get_language() or "en"
    if isinstance(number, UUID):
        customer_services.ask_for_link(order_id=number, email=email, language=language, attempt=attempt)
    else:
        customer_services.ask_for_link_by_number(
            number=number, email=email, language=language, attempt=attempt
        )
