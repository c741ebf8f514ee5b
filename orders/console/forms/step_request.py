"""The form with which an operator edits fields of an order, or of a step's request, built from the fields' types."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from orders.business import BadOrderError, Field, FieldType
from orders.console.forms.fields import Reason, select, text_input
from orders.fields import countries
from orders.fields.address_inputs import check_address, fit_to_country
from orders.fields.validators import validate_email, validate_one_line

LONGEST = {FieldType.EMAIL: 254, FieldType.TOKEN: 64}


@dataclass(frozen=True, kw_only=True)
class FormParts:
    """The fields of a form that are shown `first`, and the `others`, which are folded unless one of them is wrong."""

    first: Sequence[forms.BoundField]
    others: Sequence[forms.BoundField]

    @property
    def is_open(self) -> bool:
        return any(field.errors for field in self.others)


class EditForm(forms.Form):
    """A form field for each input of `fields`, and the reason. The parts of an address are named `ship_to.city` etc.

    The inputs in `blank` may stay empty.
    """

    def __init__(
        self,
        fields: Sequence[Field],
        data: QueryDict | None = None,
        *,
        initial: dict[str, str] | None = None,
        blank: Collection[str] = (),
    ) -> None:
        super().__init__(data, initial=initial, label_suffix="")
        self._editable = fields
        for field in fields:
            for name, part in inputs(field):
                self.fields[name] = _form_field(part, (initial or {}).get(name, ""))
                self.fields[name].required = not part.is_optional and name not in blank
            if field.has_country:
                self._fit(field, blank)
        self.fields["reason"] = Reason()

    def _fit(self, field: Field, blank: Collection[str]) -> None:
        """Gives an address the inputs of its country."""
        fit_to_country(self, prefix=f"{field.name}.", hides=False, marks_optional=False)
        for name in blank:
            if name in self.fields:
                self.fields[name].required = False

    def clean(self) -> dict[str, Any]:
        """Checks an address that was changed by the rules of its country. What an order has already may stay."""
        for field in self._editable:
            if field.has_country and any(
                self.cleaned_data.get(name, "") != self.initial.get(name, "") for name, _ in inputs(field)
            ):
                check_address(self, prefix=f"{field.name}.")
        return self.cleaned_data

    @staticmethod
    def initial_of(fields: Sequence[Field], values: Mapping[str, Any]) -> dict[str, str]:
        """Returns the value of each input, by its name."""
        initial: dict[str, str] = {}
        for field in fields:
            value = values.get(field.name)
            for name, part in inputs(field):
                text = value.get(part.name, "") if isinstance(value, Mapping) else value
                initial[name] = str(text) if isinstance(text, str | int) else ""
        return initial

    def parts(self, own: Sequence[Field]) -> FormParts:
        """Its fields but the reason, those of `own` first; all of them if it has none of those."""
        names = {name for field in own for name, _ in inputs(field)} & self.fields.keys()
        shown = [field for field in self if field.name != "reason"]
        return FormParts(
            first=[field for field in shown if not names or field.name in names],
            others=[field for field in shown if names and field.name not in names],
        )

    def changes(self) -> dict[str, Any]:
        """Returns the whole fields of a valid form."""
        return {
            field.name: (
                {
                    part.name: text
                    for part in field.parts
                    if (text := self.cleaned_data[f"{field.name}.{part.name}"]) or not part.is_optional
                }
                if field.parts
                else self.cleaned_data[field.name]
            )
            for field in self._editable
        }

    def changed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns those fields of a valid form that differ from these values, whole."""
        typed = self.changes()
        return {
            field.name: typed[field.name]
            for field in self._editable
            if self.initial_of([field], typed) != self.initial_of([field], values)
        }

    def show_refusal(self, error: ValueError) -> None:
        """Shows what is wrong with a value at its input, the first one of a field with several; otherwise above the
        form."""
        where = getattr(error, "where", "")
        names = [name for name in self.fields if where and (name == where or name.startswith(f"{where}."))]
        self.add_error(names[0] if names else None, str(error))


class BulkEditForm(EditForm):
    """The fields that are edited of many orders. Each input may stay empty: its field keeps each order's own value. The
    parts of an address are entered all or none."""

    def __init__(self, fields: Sequence[Field], data: QueryDict | None = None) -> None:
        super().__init__(fields, data, blank=[name for field in fields for name, _ in inputs(field)])
        del self.fields["reason"]  # asked for with the other settings of the action
        for name, part in (item for field in fields for item in inputs(field)):
            if part.type is FieldType.COUNTRY:
                self.fields[name] = forms.ChoiceField(
                    label=part.label,
                    required=False,
                    choices=[("", "as it is"), *_countries(part)],
                    widget=select(),
                )

    def clean(self) -> dict[str, Any]:
        """Leaves it to the preview to check the fields, which are entered whole or not at all."""
        return self.cleaned_data

    def show_mistake(self, error: BadOrderError) -> None:
        """Puts what is wrong with a value beside its input, under the label that the form has for it.

        Of a field that was entered in part, each empty input says that it is needed.
        """
        part = self.fields.get(error.where)
        if part is None:
            self.add_error(None, str(error))
            return
        group = next(field for field in self._editable if error.where in dict(inputs(field)))
        if self.cleaned_data[error.where] not in ("", None):
            self.add_error(error.where, str(error).replace(error.where, str(part.label)))
            return
        for name, part_of_group in inputs(group):
            if self.cleaned_data.get(name) in ("", None) and (
                name == error.where or not part_of_group.is_optional
            ):
                self.add_error(name, f"{group.label}: enter all of its fields, or none.")


def inputs(field: Field) -> list[tuple[str, Field]]:
    """Returns the inputs that a field needs, with their names."""
    return [(f"{field.name}.{part.name}", part) for part in field.parts] or [(field.name, field)]


def _countries(field: Field) -> Sequence[tuple[str, str]]:
    return (field.choices or countries.choices)()


def _form_field(field: Field, present: str) -> forms.Field:
    """The input of a field. The country that an order has is a choice even if it is no longer served."""
    if field.type is FieldType.NUMBER:
        return forms.IntegerField(label=field.label, widget=text_input(inputmode="numeric"))
    if field.type is FieldType.COUNTRY:
        offered = _countries(field)
        if present not in dict(offered):
            offered = [(present, countries.name(present) if present else "Choose a country"), *offered]
        return forms.ChoiceField(label=field.label, choices=offered, widget=select())
    return forms.CharField(
        label=field.label,
        max_length=LONGEST.get(field.type, 200),
        validators=[validate_email if field.type is FieldType.EMAIL else validate_one_line],
        widget=text_input(spellcheck="false"),
    )
