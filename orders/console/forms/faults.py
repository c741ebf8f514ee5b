"""The form on the chaos page that makes a sandbox service fail."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

LARGEST_LATENCY = 60_000
"""The longest latency that can be set, in milliseconds."""
SHARES = {"errors": "error_rate", "hangs": "hang_rate", "lost": "lost_reply_rate", "refusals": "refuse_rate"}
"""The form's percentages, with their names in the sandbox, where they are shares from 0 to 1."""


def _whole_number(label: Any, *, largest: int, wrong: Any) -> forms.IntegerField:
    errors = dict.fromkeys(("required", "invalid", "min_value", "max_value"), wrong)
    widget = forms.NumberInput(attrs={"class": "input"})
    return forms.IntegerField(
        label=label, min_value=0, max_value=largest, error_messages=errors, widget=widget
    )


def _percentage(label: Any) -> forms.IntegerField:
    return _whole_number(label, largest=100, wrong="Enter a whole number from 0 to 100.")


class FaultsForm(forms.Form):
    """The faults of one service."""

    down = forms.BooleanField(label="Down", required=False)
    latency = _whole_number(
        "Latency, ms",
        largest=LARGEST_LATENCY,
        wrong="Enter a whole number of milliseconds from 0 to 60,000.",
    )
    errors = _percentage("Errors, %")  # type: ignore[assignment]  # a field, not the property
    hangs = _percentage("Hangs, %")
    lost = _percentage("Lost replies, %")
    refusals = _percentage("Refusals, %")

    def __init__(
        self, data: QueryDict | None = None, *, service: str, initial: dict[str, Any] | None = None
    ) -> None:
        super().__init__(data, auto_id=f"{service}-%s", initial=initial, label_suffix="")
        self.service = service

    @staticmethod
    def initial_of(faults: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the form's values for the faults that a service has now."""
        return {
            "down": faults["down"],
            "latency": round(faults["latency_ms"][1]),
            **{name: round(faults[rate] * 100) for name, rate in SHARES.items()},
        }

    @property
    def in_words(self) -> list[tuple[str, str]]:
        """Each field's label and present value, for users who may not change them."""
        return [(str(field.label), _in_words(self.initial[name])) for name, field in self.fields.items()]

    @property
    def faults(self) -> dict[str, Any]:
        """The faults that a valid form asks the sandbox for."""
        values = self.cleaned_data
        shares = {rate: values[name] / 100 for name, rate in SHARES.items()}
        return {"down": values["down"], "latency_ms": [0, values["latency"]], **shares}


def _in_words(value: bool | int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
