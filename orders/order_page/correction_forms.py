"""The form with which a customer corrects a field of her order, built from the field's type."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orders.business import BadOrderError, Field, FieldType, RefusedAgainError
from orders.fields import countries
from orders.fields.address_inputs import check_address, fit_to_country, place_inputs
from orders.fields.validators import validate_email, validate_no_web_address, validate_one_line
from orders.selectors.customer_order import CustomerLine
from orders.wording.customers.shortages import shortage

LONGEST = {FieldType.EMAIL: 254, FieldType.TOKEN: 64}
NEEDED = _("Please fill this in.")
UNREADABLE = _("We can’t take this. Please check what you entered.")


class CorrectionForm(forms.Form):
    """An input for each part of a field, filled in with what the order has now. Of lines, one for each line, filled in
    with as many as can still be had: `stock` says how many there are of the products that are short. The
    `refused_country` is not offered; sent all the same, it is for the kind to refuse."""

    def __init__(
        self,
        field: Field,
        value: Any,
        lines: Sequence[CustomerLine],
        stock: Mapping[str, int],
        data: QueryDict | None = None,
        *,
        refused_country: str = "",
    ) -> None:
        super().__init__(data, label_suffix="", auto_id="correct-%s")
        self._field = field
        self._lines = lines if field.type is FieldType.LINES else ()
        if field.type is FieldType.LINES:
            for line in lines:
                self.fields[self._name(line)] = _quantity(line, stock.get(line.sku))
            return
        for part in field.parts or (field,):
            present = value.get(part.name) if field.parts and isinstance(value, Mapping) else value
            self.fields[part.name] = _input(part, present if isinstance(present, str | int) else "")
        if field.has_country and refused_country:
            self._leave_out(refused_country)
        if field.has_country:
            fit_to_country(self)

    def _leave_out(self, country: str) -> None:
        """Takes a country out of the choices that are shown."""
        field = self.fields["country"]
        offered = [choice for choice in field.choices if choice[0] != country]  # type: ignore[attr-defined]
        if field.initial == country:
            field.initial = ""
            if "" not in dict(offered):
                offered = [("", gettext("Choose a country")), *offered]
        field.widget.choices = offered

    def _name(self, line: CustomerLine) -> str:
        return f"{self._field.name}.{line.sku}"

    def clean(self) -> dict[str, Any]:
        """Refuses to leave every line out, and what an address of its country cannot have. Raises `ValidationError`."""
        if self._field.has_country:
            check_address(self)
        values = self.cleaned_data
        if self._lines and not self.errors and not any(values.values()):
            raise forms.ValidationError(gettext("Keep at least one, or cancel the order."), code="nothing")
        return values

    def rows(self) -> list[tuple[CustomerLine, forms.BoundField]]:
        """The lines of the order, each with its input; none if the field is another one."""
        return [(line, self[self._name(line)]) for line in self._lines]

    def value(self) -> Any:
        """The field's new value, once the form is valid."""
        if self._field.type is FieldType.LINES:
            start = len(self._field.name) + 1
            return [{"sku": name[start:], "quantity": number} for name, number in self.cleaned_data.items()]
        if not self._field.parts:
            return self.cleaned_data[self._field.name]
        optional = {part.name for part in self._field.parts if part.is_optional}
        return {name: value for name, value in self.cleaned_data.items() if value or name not in optional}

    def place(self) -> list[forms.BoundField]:
        """The inputs of an address that differ from country to country, in the order of the country."""
        return place_inputs(self)

    def show_refusal(self, error: BadOrderError) -> None:
        """Says at an input why its value cannot be taken; above the form if it is none's."""
        part = error.where.removeprefix(f"{self._field.name}.")
        words = error.words if isinstance(error, RefusedAgainError) else UNREADABLE
        self.add_error(part if part in self.fields else None, str(words))

    def hidden(self) -> list[str]:
        """The inputs as they were filled in, for the page that asks whether that is meant."""
        return [field.as_hidden() for field in self]


def _quantity(line: CustomerLine, stock: int | None) -> forms.Field:
    """The input for how many are wanted of a line, of whose product so many are left; None if enough are."""
    is_short = stock is not None and stock < line.quantity
    most = stock if stock is not None and is_short else line.quantity
    return forms.IntegerField(
        label=line.title,
        help_text=_shortage(line, most) if is_short else "",
        min_value=0,
        max_value=most,
        initial=most,
        widget=forms.NumberInput(attrs={"class": "input", "inputmode": "numeric"}),
        error_messages={
            "required": _("Enter how many you want, or 0."),
            "invalid": _("Enter a whole number."),
            "min_value": _("Enter 0 or more."),
            "max_value": _too_many(line, most)
            if is_short
            else _("Enter at most %(limit_value)d, as many as you ordered."),
        },
    )


def _too_many(line: CustomerLine, stock: int) -> str:
    """What is said where more are wanted than are left: a text whose per cent signs are doubled."""
    if stock:
        words = gettext("Enter at most {left} of {title}.").format(left=stock, title=line.title)
    else:
        words = _shortage(line, stock)
    return words.replace("%", "%%")


def _shortage(line: CustomerLine, stock: int) -> str:
    return shortage(title=line.title, stock=stock, ordered=line.quantity)


def _input(part: Field, value: str | int) -> forms.Field:
    attributes = {"class": "input"} | ({"autocomplete": part.autocomplete} if part.autocomplete else {})
    shared: dict[str, Any] = {
        "label": part.customer_label or part.label,
        "initial": value,
        "required": not part.is_optional,
        "error_messages": {"required": NEEDED},
    }
    if part.type is FieldType.COUNTRY:
        offered = (part.choices or countries.choices)()
        if value not in dict(offered):
            offered = [("", gettext("Choose a country")), *offered]
        return forms.ChoiceField(choices=offered, widget=forms.Select(attrs=attributes), **shared)
    if part.type is FieldType.NUMBER:
        return forms.IntegerField(widget=forms.NumberInput(attrs=attributes), **shared)
    check = [validate_email] if part.type is FieldType.EMAIL else [validate_one_line, validate_no_web_address]
    return forms.CharField(
        max_length=LONGEST.get(part.type, 200),
        validators=check,
        widget=forms.TextInput(attrs=attributes),
        **shared,
    )
