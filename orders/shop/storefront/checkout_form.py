"""The form that a customer fills in to order. It accepts nothing that the submission role would set aside."""

from collections.abc import Mapping

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as lazy

from orders.shop.description import LONGEST_GIFT_NOTE
from orders.shop.storefront.address_fields import AddressFields
from orders.shop.storefront.form_fields import EmailField, ParagraphField, ShopForm

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


class CheckoutForm(AddressFields, PaymentForm):
    """Everything that an order needs besides the cart.

    `key` is the one-time key of the page that was filled in, and `seen_total` the total that it showed, in minor units.
    """

    purpose = "shipping"
    field_order = ("email",)

    key = forms.CharField(required=False, widget=forms.HiddenInput)
    seen_total = forms.CharField(required=False, widget=forms.HiddenInput)
    email = EmailField()

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
        return {part: text for part, text in self.address_parts().items() if text}
