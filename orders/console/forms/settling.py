"""The form with which a step is settled by hand, built from what its result must hold."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from django import forms
from django.forms.boundfield import BoundField
from django.http import QueryDict

from orders.business import ResultField, ResultType
from orders.console.forms.fields import Reason, exact_input, text_input

LONGEST_RESULT = 4_000
LONGEST_TEXT = 1_000
"""Characters of a text in the result."""
RESULT = "result"
"""The input of the whole result, and the beginning of the names of the inputs of its fields."""
DONE, NOT_DONE, COMPENSATED = "done", "not done", "compensated"


class StrictDecoder(json.JSONDecoder):
    """Reads what can be stored as JSON: Python also reads NaN and Infinity."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, parse_constant=_refuse)

    def decode(self, s: str, *options: Any) -> Any:
        try:
            return super().decode(s, *options)
        except RecursionError as error:
            raise json.JSONDecodeError("nested too deeply", s, 0) from error


def _refuse(constant: str) -> NoReturn:
    raise json.JSONDecodeError("no JSON", constant, 0)


class JsonInput(forms.JSONField):
    """A value as JSON, or nothing."""

    def __init__(self, *, rows: int, **options: Any) -> None:
        widget = forms.Textarea(
            attrs={"class": "input", "rows": rows, "maxlength": LONGEST_RESULT, "spellcheck": "false"}
        )
        super().__init__(decoder=StrictDecoder, required=False, widget=widget, **options)

    def prepare_value(self, value: Any) -> Any:
        """What the input shows."""
        return "" if value is None else super().prepare_value(value)


def _proposal(finding: Mapping[str, Any], answer: Any, fields: Sequence[ResultField]) -> dict[str, Any]:
    """The form's values as far as the remote service's own words settle the step."""
    how = {"done": DONE, "not_done": NOT_DONE}.get(finding.get("finding", ""))
    result = finding.get("result") if how == DONE else answer
    held = result if isinstance(result, Mapping) else {}
    values = {f"{RESULT}.{field.name}": held.get(field.name) for field in fields if _fits(field, held)}
    return {"how": how} | (values if fields else {RESULT: held})


def _fits(field: ResultField, result: Mapping[str, Any]) -> bool:
    """Whether the result has a value that can be shown in the field's input."""
    value = result.get(field.name)
    if field.type is ResultType.JSON:
        return value is not None
    kinds = (int, float) if field.type is ResultType.NUMBER else str
    return isinstance(value, kinds) and not isinstance(value, bool)


def _input(field: ResultField) -> forms.Field:
    """The input for a field of the result. It is required only if the step was done, so not by the browser."""
    match field.type:
        case ResultType.NUMBER:
            widget = forms.NumberInput(attrs={"class": "input", "step": "any"})
            return forms.FloatField(
                label=field.label,
                required=False,
                widget=widget,
                error_messages={"invalid": "Enter a number."},
            )
        case ResultType.JSON:
            error = 'Enter JSON, such as 12, "a text" or ["a", "list"].'
            hint = 'As JSON: a text stands in quotes, and a list in ["a", "b"].'
            return JsonInput(rows=3, label=field.label, help_text=hint, error_messages={"invalid": error})
    return forms.CharField(
        label=field.label,
        required=False,
        max_length=LONGEST_TEXT,
        empty_value=None,
        widget=exact_input(),
        error_messages={"max_length": "Shorten this to %(limit_value)s characters."},
    )


def _whole(value: Any) -> Any:
    """The value, and a number without a fraction as a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class SettleForm(forms.Form):
    """Settles a step by hand: whether it was done, with the proof.

    It has an input for each of `fields`, which the step's result must hold, or one for a result as JSON.
    """

    how = forms.ChoiceField(
        label="What happened",
        choices=[
            (DONE, "It was done. The order continues with the response below."),
            (NOT_DONE, "It was not done. The next attempt uses a new key."),
        ],
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), "Choose whether the step was done."),
    )
    result = JsonInput(
        rows=5,
        label="Response, as JSON, if it was done",
        help_text="What the remote service would have answered. Later steps may need it.",
        error_messages={"invalid": "Enter a JSON object, as the remote service would have answered."},
    )
    reason = Reason(label="Proof", widget=text_input(required=True))

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        is_compensation: bool,
        fields: Sequence[ResultField] = (),
        finding: Mapping[str, Any] | None = None,
        answer: Any = None,
    ) -> None:
        initial = {} if is_compensation else _proposal(finding or {}, answer, fields)
        super().__init__(data, label_suffix="", auto_id="%s", initial=initial)
        self._declared = fields
        if is_compensation:
            self._declared = ()
            self.fields["how"] = forms.ChoiceField(
                choices=[(COMPENSATED, "")], widget=forms.HiddenInput, initial=COMPENSATED
            )
        if is_compensation or fields:
            del self.fields[RESULT]
        for field in self._declared:
            self.fields[f"{RESULT}.{field.name}"] = _input(field)

    @property
    def declared(self) -> list[BoundField]:
        """The inputs for what the step's result must hold; none if it declares nothing."""
        return [self[f"{RESULT}.{field.name}"] for field in self._declared]

    def clean_result(self) -> dict[str, Any]:
        """Takes a JSON object; nothing counts as an empty one."""
        result = self.cleaned_data[RESULT]
        if result is None:
            return {}
        if not isinstance(result, dict):
            raise forms.ValidationError(self.fields[RESULT].error_messages["invalid"], code="invalid")
        return result

    def clean(self) -> dict[str, Any]:
        """Puts the result together, and asks for all of it if the step was done."""
        values = self.cleaned_data
        if self._declared:
            inputs = {field.name: f"{RESULT}.{field.name}" for field in self._declared}
            values[RESULT] = {name: _whole(values.get(place)) for name, place in inputs.items()}
            for place in inputs.values():
                if values.get("how") == DONE and place in values and values[place] is None:
                    self.add_error(place, "Enter this. Later steps or people rely on it.")
        return values
