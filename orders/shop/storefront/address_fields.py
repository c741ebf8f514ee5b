"""The fields of a postal address in the shop's forms."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from orders.fields.address_inputs import check_address, fit_to_country, place_inputs
from orders.fields.postal_address import LONGEST_PHONE, PARTS
from orders.shop.storefront.form_fields import LineField, ShopForm, country_choices


class AddressFields(ShopForm):
    """A form with a postal address. `purpose` is what browsers are told that it is for, such as "shipping"."""

    purpose = ""

    country = forms.ChoiceField(
        label=_("Country"),
        error_messages={
            "required": _("Choose a country."),
            "invalid_choice": _("Choose a country from the list."),
        },
        widget=forms.Select(attrs={"autocomplete": "country"}),
    )
    name = LineField(
        label=_("Name"),
        autocomplete="name",
        error_messages={"required": _("Enter the recipient’s name.")},
    )
    street = LineField(
        label=_("Street and number"),
        autocomplete="address-line1",
        error_messages={"required": _("Enter the street and house number.")},
    )
    line2 = LineField(
        label=_("Flat, floor, building (optional)"), autocomplete="address-line2", required=False
    )
    postal_code = LineField(
        autocomplete="postal-code",
    )
    city = LineField(
        autocomplete="address-level2",
        error_messages={"required": _("Enter the city.")},
    )
    state = LineField(
        autocomplete="address-level1",
    )
    phone = LineField(
        label=_("Phone (optional)"),
        autocomplete="tel",
        max_length=LONGEST_PHONE,
        required=False,
        help_text=_("So that the carrier can reach you."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # A function would be called by each of those who look at the choices, and asks the database.
        cast("forms.ChoiceField", self.fields["country"]).choices = country_choices()
        self.fields["phone"].widget.attrs["inputmode"] = "tel"
        if self.purpose:
            for part in PARTS:
                attributes = self.fields[part].widget.attrs
                attributes["autocomplete"] = f"{self.purpose} {attributes['autocomplete']}"
        fit_to_country(self)

    def clean(self) -> dict[str, Any]:
        """Checks the address by the rules of its country."""
        super().clean()
        check_address(self)
        return self.cleaned_data

    def place(self) -> list[forms.BoundField]:
        """The inputs that differ from country to country, in the order of the country."""
        return place_inputs(self)

    def address_parts(self) -> dict[str, str]:
        """The address, once the form is valid: every part of it, empty if it has none."""
        return {part: self.cleaned_data[part] for part in PARTS}
