"""The inputs of a postal address in a form: as its country has them, and checked by the rules of that country.

A form has an input for each part, under the part's name, perhaps with a prefix. Without JavaScript, the inputs follow
the country once the form was sent; `static/js/address.js` makes them follow at once.
"""

from typing import Any

from django import forms
from django.utils.translation import get_language, gettext

from orders.fields.address_rules import AddressRules, Mistake, mistakes, rules_of, tidy_address
from orders.fields.address_words import mistake_words, part_label
from orders.fields.postal_address import PARTS

OF_A_COUNTRY = ("city", "state", "postal_code")
"""The parts that differ from country to country."""


class StateSelect(forms.Select):
    """A choice of a country's states. It shows the one that its value names by a code or a name."""

    def __init__(self, rules: AddressRules, attrs: dict[str, Any]) -> None:
        super().__init__(attrs, state_choices(rules))
        self._rules = rules

    def format_value(self, value: Any) -> Any:
        """The code of the state."""
        state = self._rules.find_state(value) if isinstance(value, str) and value else None
        return super().format_value(state.code if state else value)


def state_choices(rules: AddressRules) -> list[tuple[str, str]]:
    """Code and name of each state, by name in the reader's language, after the choice of none."""
    language = get_language() or "en"
    named = [(state.code, state.name(language, rules.language)) for state in rules.states]
    return [("", gettext("Choose one")), *sorted(named, key=lambda choice: choice[1])]


def fit_to_country(
    form: forms.Form, *, prefix: str = "", hides: bool = True, marks_optional: bool = True
) -> None:
    """Gives the inputs of an address the names, the choices and the rules of the country that the form has. A form that
    `hides` what the country does not have must follow the choice of another one (`static/js/address.js`). One that
    marks what it requires says nothing of what is optional."""
    country = form[f"{prefix}country"].value()
    rules = rules_of(country if isinstance(country, str) else "")
    for part in OF_A_COUNTRY:
        if (field := form.fields.get(f"{prefix}{part}")) is not None:
            _fit(field, part, rules, marks_optional=marks_optional)
            if hides and (not rules.has(part) or (part == "state" and not rules.country)):
                field.widget.attrs["data-unused"] = ""


def place_inputs(form: forms.Form, *, prefix: str = "") -> list[forms.BoundField]:
    """The inputs that differ from country to country, in the order of the country that the form has. Those that it does
    not have come last."""
    country = form[f"{prefix}country"].value()
    order = place_order(rules_of(country if isinstance(country, str) else ""))
    return [form[f"{prefix}{part}"] for part in order if f"{prefix}{part}" in form.fields]


def place_order(rules: AddressRules) -> list[str]:
    """The parts that differ from country to country, in the order of this country, and those that it does not have."""
    return [*rules.place, *(part for part in OF_A_COUNTRY if part not in rules.place)]


def check_address(form: forms.Form, *, prefix: str = "") -> None:
    """Puts an address into order in the form's cleaned data, and says at its inputs what is wrong with it."""
    names = {part: f"{prefix}{part}" for part in PARTS if f"{prefix}{part}" in form.fields}
    address = tidy_address({part: form.cleaned_data.get(name) or "" for part, name in names.items()})
    rules = rules_of(address.get("country", ""))
    for part, mistake in mistakes(address).items():
        if part in names and not form.has_error(names[part]):
            form.add_error(names[part], mistake_words(part, mistake, rules))
    for part, name in names.items():
        if name in form.cleaned_data:
            form.cleaned_data[name] = address.get(part, "")


def _fit(field: forms.Field, part: str, rules: AddressRules, *, marks_optional: bool) -> None:
    field.label = part_label(part, rules, marks_optional=marks_optional)
    field.required = rules.needs(part)
    if part != "city":
        field.error_messages["required"] = mistake_words(part, Mistake.MISSING, rules)
    if part == "state" and rules.states:
        attributes = {name: value for name, value in field.widget.attrs.items() if name != "maxlength"}
        field.widget = StateSelect(rules, attributes)
