"""The form on the chaos page that makes a sandbox service fail."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict

LARGEST_LATENCY = 60_000
"""The longest latency that can be set, in milliseconds."""
SHARES = {"errors": "error_rate", "hangs": "hang_rate", "lost": "lost_reply_rate", "refusals": "refuse_rate"}
"""The form's percentages, with their names in the sandbox, where they are shares from 0 to 1."""


_STOCK = re.compile(r"([^=,\s]+)\s*=\s*(\d{1,9})", re.ASCII)
_COUNTRY = re.compile(r"[A-Z]{2}", re.ASCII)


class StockField(forms.CharField):
    """How many of some products are left: "tidal-lines=0, first-sun=2"."""

    def to_python(self, value: Any) -> Any:
        """The numbers by product. Raises `ValidationError`."""
        matches = [_STOCK.fullmatch(part) for part in _parts(super().to_python(value))]
        if not all(matches):
            raise forms.ValidationError("Enter products with how many are left, such as tidal-lines=0.")
        return {match[1]: int(match[2]) for match in matches if match}


class CountriesField(forms.CharField):
    """Codes of countries: "IS, NO"."""

    def to_python(self, value: Any) -> Any:
        """The codes. Raises `ValidationError`."""
        codes = [part.upper() for part in _parts(super().to_python(value))]
        if not all(map(_COUNTRY.fullmatch, codes)):
            raise forms.ValidationError("Enter codes of two letters, such as IS, NO.")
        return codes


def _limit_text(limit: Mapping[str, int] | Sequence[str]) -> str:
    """A limit as its field takes it."""
    if isinstance(limit, Mapping):
        return ", ".join(f"{name}={number}" for name, number in limit.items())
    return ", ".join(limit)


def _parts(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


LIMITS: Mapping[str, tuple[type[forms.CharField], str]] = {
    "stock": (StockField, "Left in stock"),
    "unserved": (CountriesField, "Countries not served"),
}
"""What only one of the services cannot do, by its name in the sandbox: its field, and the label."""


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

    def __init__(self, data: QueryDict | None = None, *, service: str, faults: Mapping[str, Any]) -> None:
        """`faults` are those that the service has now, and show which it can have."""
        super().__init__(data, auto_id=f"{service}-%s", initial=self.initial_of(faults), label_suffix="")
        self.service = service
        self._limits = [name for name in LIMITS if name in faults]
        for name in self._limits:
            kind, label = LIMITS[name]
            widget = forms.TextInput(attrs={"class": "input", "autocomplete": "off", "spellcheck": "false"})
            self.fields[name] = kind(label=label, required=False, max_length=400, widget=widget)

    @staticmethod
    def initial_of(faults: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the form's values for the faults that a service has now."""
        return {
            "down": faults["down"],
            "latency": round(faults["latency_ms"][1]),
            **{name: round(faults[rate] * 100) for name, rate in SHARES.items()},
            **{name: _limit_text(faults[name]) for name in LIMITS if name in faults},
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
        limits = {name: values[name] for name in self._limits}
        return {"down": values["down"], "latency_ms": [0, values["latency"]], **shares, **limits}


def _in_words(value: bool | int | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "none"
