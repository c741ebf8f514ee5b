"""How an address is written, and what is wrong with one that a REST client sends."""

from collections.abc import Mapping

from orders.emails.letter import one_line
from orders.fields import countries
from orders.fields.address_rules import AddressRules, Mistake, address_lines, mistakes, rules_of, tidy_address
from orders.shop.served import nothing_delivered, present_not_served


def written_address(ship_to: Mapping[str, str]) -> str:
    """An order's address line by line, as it is written in its country, with the country's name in the reader's
    language."""
    parts = {part: one_line(text) for part, text in ship_to.items()}
    return "\n".join(address_lines(parts, country_name=countries.name(parts["country"])))


def refusals(ship_to: Mapping[str, str]) -> dict[str, str]:
    """What cannot be part of an address that is delivered to, and why, by the names of the parts. Without a country
    that is, nothing is said of the other parts. The state may be missing, as it always was."""
    country = ship_to["country"]
    if not countries.is_country(country):
        text = f"This must be the code of a country (ISO 3166), such as GB. There is no country {country}."
        return {"country": text}
    if country in present_not_served():
        return {"country": nothing_delivered(country)}
    wrong = mistakes(tidy_address(ship_to))
    if wrong.get("state") is Mistake.MISSING:
        del wrong["state"]
    return {part: _refusal(mistake, rules_of(country)) for part, mistake in wrong.items()}


def _refusal(mistake: Mistake, rules: AddressRules) -> str:
    country = rules.country
    texts = {
        Mistake.MISSING: f"An address in {country} needs one, like {rules.example}.",
        Mistake.WRONG_POSTAL_CODE: f"This must be a postal code of {country}, like {rules.example}.",
        Mistake.UNKNOWN_STATE: f"This must be a state of {country} by its code or its name.",
        Mistake.WRONG_PHONE: "This must be a phone number, like +36 1 234 5678.",
    }
    return texts[mistake]
