"""The small forms of the cart: which print, and how many."""

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from orders.fields.numbers import read_whole_number
from orders.shop.offers import MOST_OF_ONE
from orders.shop.storefront import cart


class QuantityField(forms.Field):
    """How many of one print, in digits. `initial` is used if the field was not sent at all."""

    default_error_messages = {
        "invalid": format_lazy(_("You can order 1 to {most} of each print."), most=MOST_OF_ONE)
    }

    def __init__(self, *, lowest: int, **options: Any) -> None:
        super().__init__(**options)
        self.lowest = lowest

    def to_python(self, value: Any) -> int:
        """The quantity. Raises `ValidationError` for what cannot be ordered."""
        if value is None:
            value = self.initial
        quantity = read_whole_number(str(value), largest=MOST_OF_ONE)
        if quantity is None or quantity < self.lowest:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return quantity


class PrintForm(forms.Form):
    """A print: a product in one size and edition."""

    sku = forms.CharField(max_length=cart.LONGEST_SKU, strip=False)


class AddForm(PrintForm):
    """A print to put into the cart; the quantity is 1 if none is sent."""

    quantity = QuantityField(lowest=1, initial=1)


class ChangeForm(PrintForm):
    """A print in the cart, and its new quantity; 0 takes it out."""

    quantity = QuantityField(lowest=0, initial="")
