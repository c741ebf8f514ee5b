"""What the parts of an address are called in its country, and what is wrong with one, in the reader's language."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orders.fields.address_rules import AddressRules, Mistake

STATES: Mapping[str, str | Promise] = {
    "area": _("Area"),
    "county": _("County"),
    "department": _("Department"),
    "district": _("District"),
    "do_si": _("Province or city"),
    "emirate": _("Emirate"),
    "island": _("Island"),
    "oblast": _("Region"),
    "parish": _("Parish"),
    "prefecture": _("Prefecture"),
    "province": _("Province"),
    "state": _("State"),
}
CITIES: Mapping[str, str | Promise] = {
    "city": _("City"),
    "district": _("District"),
    "post_town": _("Town or city"),
    "suburb": _("Suburb"),
}
POSTAL_CODES: Mapping[str, str | Promise] = {
    "postal": _("Postal code"),
    "zip": _("ZIP code"),
    "pin": _("PIN code"),
    "eircode": _("Eircode"),
}
WITH_POSTCODES = frozenset({"AU", "GB", "GG", "IM", "JE", "NZ"})
"""Countries that say postcode."""


def part_label(part: str, rules: AddressRules, *, marks_optional: bool = True) -> str:
    """What a part of an address is called in a country, and perhaps that it may stay empty; "" for a part that is
    called the same everywhere."""
    if part == "city":
        return str(CITIES.get(rules.city_type, CITIES["city"]))
    if part == "state":
        label = (
            str(STATES.get(rules.state_type, STATES["state"]))
            if rules.country
            else gettext("State or province")
        )
    elif part == "postal_code":
        label = (
            gettext("Postcode")
            if rules.country in WITH_POSTCODES
            else str(POSTAL_CODES[rules.postal_code_type])
        )
    else:
        return ""
    return optional(label) if marks_optional and rules.country and not rules.needs(part) else label


def optional(label: str) -> str:
    """The label of an input that may stay empty."""
    return gettext("{label} (optional)").format(label=label)


def mistake_words(part: str, mistake: Mistake, rules: AddressRules) -> str:
    """What is wrong with a part of an address, and what to enter instead."""
    if part == "postal_code" and rules.example:
        return _example_words(rules).format(example=rules.example)
    if part == "state" and rules.states:
        return gettext("Choose one from the list.")
    if mistake is Mistake.WRONG_PHONE:
        return gettext("Enter a phone number, like +36 1 234 5678.")
    return gettext("Please fill this in.")


def _example_words(rules: AddressRules) -> str:
    if rules.country in WITH_POSTCODES:
        return gettext("Enter a postcode like {example}.")
    if rules.postal_code_type == "zip":
        return gettext("Enter a ZIP code like {example}.")
    if rules.postal_code_type == "pin":
        return gettext("Enter a PIN code like {example}.")
    if rules.postal_code_type == "eircode":
        return gettext("Enter an Eircode like {example}.")
    return gettext("Enter a postal code like {example}.")
