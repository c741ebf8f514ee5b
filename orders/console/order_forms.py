"""The form by which an operator edits what a step asks for, made from the types of its editable fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from orders.fields import countries
from orders.fields.validators import validate_email, validate_one_line
from orders.services.operators.editing import Field, FieldType

LABELS = {
    "payment_method": gettext_lazy("Means of payment (the gateway's token)"),
    "email": gettext_lazy("E-mail"),
    "ship_to": gettext_lazy("Address"),
    "name": gettext_lazy("Name"),
    "street": gettext_lazy("Street and number"),
    "postal_code": gettext_lazy("Postal code"),
    "city": gettext_lazy("City"),
    "country": gettext_lazy("Country"),
}
LONGEST = {FieldType.EMAIL: 254, FieldType.TOKEN: 64}


class EditForm(forms.Form):
    """A field for each input of `fields`; the parts of an address are named `ship_to.city` and so on."""

    def __init__(self, fields: Sequence[Field], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._editable = fields
        for field in fields:
            for name, one in inputs(field):
                self.fields[name] = _form_field(one)

    @staticmethod
    def initial_of(fields: Sequence[Field], values: Mapping[str, Any]) -> dict[str, str]:
        """What the inputs have at first: the present values."""
        found: dict[str, str] = {}
        for field in fields:
            value = values.get(field.name)
            for name, one in inputs(field):
                part = value.get(one.name, "") if isinstance(value, Mapping) else value
                found[name] = part if isinstance(part, str) else ""
        return found

    def changes(self) -> dict[str, Any]:
        """The whole fields, once the form is valid."""
        return {
            field.name: (
                {part.name: self.cleaned_data[f"{field.name}.{part.name}"] for part in field.parts}
                if field.parts
                else self.cleaned_data[field.name]
            )
            for field in self._editable
        }


def inputs(field: Field) -> list[tuple[str, Field]]:
    """The inputs that a field takes, by name."""
    return [(f"{field.name}.{part.name}", part) for part in field.parts] or [(field.name, field)]


def label_of(name: str) -> str:
    """What a field is called."""
    return str(LABELS.get(name, name.replace("_", " ")))


def flat(values: Mapping[str, Any], fields: Sequence[Field]) -> dict[str, str]:
    """Values by input, to be compared one by one."""
    return EditForm.initial_of(fields, values)


def _form_field(field: Field) -> forms.Field:
    label = label_of(field.name)
    if field.type is FieldType.COUNTRY:
        return forms.ChoiceField(
            label=label, choices=countries.choices, widget=forms.Select(attrs={"class": "input"})
        )
    return forms.CharField(
        label=label,
        max_length=LONGEST.get(field.type, 200),
        validators=[validate_email if field.type is FieldType.EMAIL else validate_one_line],
        widget=forms.TextInput(attrs={"class": "input", "spellcheck": "false"}),
    )
