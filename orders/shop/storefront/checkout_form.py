"""The form that a customer fills in to order. It accepts nothing that the submission role would set aside."""

from collections.abc import Mapping

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as lazy

from orders.fields import postal_address
from orders.shop.description import LONGEST_GIFT_NOTE
from orders.shop.storefront.form_fields import (
    EmailField,
    LineField,
    ParagraphField,
    ShopForm,
    country_choices,
)

METHODS: Mapping[str, tuple[str | Promise, str | Promise]] = {
    "card_ok": (lazy("A card that works"), lazy("Approved at once")),
    "card_declined": (lazy("A card that is declined"), lazy("You’ll be asked for another one")),
    "card_slow": (lazy("A card from a slow bank"), lazy("Approved after a few seconds")),
    "card_hangs": (lazy("A card whose bank never answers"), lazy("To see how we try again")),
}
"""The sandbox's payment methods, for the demonstration: each with its name and what happens."""


class PaymentForm(ShopForm):
    """A choice of payment method."""

    payment_method = forms.ChoiceField(
        choices=[(key, name) for key, (name, _note) in METHODS.items()],
        error_messages={
            "required": lazy("Choose how to pay."),
            "invalid_choice": lazy("Choose one of these ways to pay."),
        },
    )


class CheckoutForm(PaymentForm):
    """Everything that an order needs besides the cart.

    `key` is the one-time key of the page that was filled in, and `seen_total` the total that it showed, in minor units.
    """

    key = forms.CharField(required=False, widget=forms.HiddenInput)
    seen_total = forms.CharField(required=False, widget=forms.HiddenInput)
    email = EmailField()
    name = LineField(
        label=lazy("Name"),
        autocomplete="shipping name",
        error_messages={"required": lazy("Enter the recipient’s name.")},
    )
    street = LineField(
        label=lazy("Street and number"),
        autocomplete="shipping street-address",
        error_messages={"required": lazy("Enter the street and house number.")},
    )
    postal_code = LineField(
        label=lazy("Postal code"),
        autocomplete="shipping postal-code",
        error_messages={"required": lazy("Enter the postal code.")},
    )
    city = LineField(
        label=lazy("City"),
        autocomplete="shipping address-level2",
        error_messages={"required": lazy("Enter the city.")},
    )
    country = forms.ChoiceField(
        label=lazy("Country"),
        choices=country_choices,
        error_messages={
            "required": lazy("Choose a country."),
            "invalid_choice": lazy("Choose a country from the list."),
        },
        widget=forms.Select(attrs={"autocomplete": "shipping country"}),
    )

    gift_note = ParagraphField(
        label=lazy("Gift note"),
        help_text=lazy("We put it into the parcel. Up to 300 characters, without web addresses."),
        max_length=LONGEST_GIFT_NOTE,
        required=False,
        rows=3,
    )

    @property
    def has_field_errors(self) -> bool:
        """Whether a field is wrong, rather than the order as a whole."""
        return any(name != NON_FIELD_ERRORS for name in self.errors)

    def ship_to(self) -> dict[str, str]:
        """The postal address, once the form is valid."""
        return {part: self.cleaned_data[part] for part in postal_address.PARTS}
