"""What a customer fills in to order, and what it must be like. Nothing passes that the submission would set aside."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from orders.api.requests import EMAIL
from orders.fields import countries

LONGEST_PART = 200
SHIP_TO = ("name", "street", "city", "postal_code", "country")
BREAKS = frozenset({"Cc", "Zl", "Zp", "Cs"})

METHODS: Mapping[str, tuple[str | Promise, str | Promise]] = {
    "card_ok": (lazy("A card that pays"), lazy("Approved at once")),
    "card_declined": (lazy("A card that is declined"), lazy("You will be asked for another one")),
    "card_slow": (lazy("A card whose bank is slow"), lazy("Approved after some seconds")),
    "card_hangs": (lazy("A card whose bank never answers"), lazy("To see how we try again")),
}
"""The sandbox's means of payment, for demonstration: a name and what happens."""


def one_line(text: str) -> None:
    """Raises `ValidationError` for a text with control characters or line breaks in it."""
    if any(unicodedata.category(letter) in BREAKS for letter in text):
        raise ValidationError(_("Please write this in one line."))


def _choices() -> list[tuple[str, str]]:
    return [("", _("Choose a country")), *countries.choices()]


def _part(label: Any, autocomplete: str, missing: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=LONGEST_PART,
        validators=[one_line],
        error_messages={"required": missing},
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": autocomplete}),
    )


class PaymentForm(forms.Form):
    """A means of payment."""

    payment_method = forms.ChoiceField(
        choices=[(key, name) for key, (name, _what) in METHODS.items()],
        error_messages={
            "required": lazy("Please choose how to pay."),
            "invalid_choice": lazy("Please choose one of these."),
        },
    )


class CheckoutForm(PaymentForm):
    """Everything that an order needs besides the cart."""

    email = forms.CharField(
        label=lazy("E-mail"),
        max_length=254,
        error_messages={"required": lazy("Please give your e-mail address.")},
        widget=forms.EmailInput(attrs={"class": "input", "autocomplete": "email", "spellcheck": "false"}),
    )
    name = _part(lazy("Name"), "shipping name", lazy("Please say to whom we send it."))
    street = _part(
        lazy("Street and number"), "shipping street-address", lazy("Please give the street and number.")
    )
    postal_code = _part(lazy("Postal code"), "shipping postal-code", lazy("Please give the postal code."))
    city = _part(lazy("City"), "shipping address-level2", lazy("Please give the city."))
    country = forms.ChoiceField(
        label=lazy("Country"),
        choices=_choices,
        error_messages={
            "required": lazy("Please choose the country."),
            "invalid_choice": lazy("Please choose a country of the list."),
        },
        widget=forms.Select(attrs={"class": "input", "autocomplete": "shipping country"}),
    )

    def clean_email(self) -> str:
        """The address, if a mail can be sent to it."""
        email = str(self.cleaned_data["email"])
        if not email.isascii() or not re.fullmatch(EMAIL, email):
            raise ValidationError(_("This is not a whole e-mail address."))
        return email

    @property
    def has_field_errors(self) -> bool:
        """Whether a field is wrong, rather than the order as a whole."""
        return any(name != NON_FIELD_ERRORS for name in self.errors)

    def ship_to(self) -> dict[str, str]:
        """The address, once the form is valid."""
        return {
            part: self.cleaned_data[part] for part in ("name", "street", "city", "postal_code", "country")
        }
