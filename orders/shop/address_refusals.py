"""What is wrong with an address that a REST client sends."""

from collections.abc import Mapping

from orders.fields.address_rules import AddressRules, Mistake, mistakes, rules_of, tidy_address
from orders.fields.country_codes import is_country
from orders.shop.served import nothing_delivered, present_not_served


def refusals(ship_to: Mapping[str, str], *, takes_any_postal_code: bool = False) -> dict[str, str]:
    """What cannot be part of an address that is delivered to, and why, by the names of the parts. Of a country that
    there is not, nothing is said of the other parts. The state may be missing, as it always was."""
    country = ship_to["country"]
    if not is_country(country):
        text = f"This must be the code of a country (ISO 3166), such as GB. There is no country {country}."
        return {"country": text}
    unserved = {"country": nothing_delivered(country)} if country in present_not_served() else {}
    wrong = mistakes(tidy_address(ship_to))
    if wrong.get("state") is Mistake.MISSING:
        del wrong["state"]
    if takes_any_postal_code and wrong.get("postal_code") is Mistake.WRONG_POSTAL_CODE:
        del wrong["postal_code"]
    return unserved | {part: _refusal(mistake, rules_of(country)) for part, mistake in wrong.items()}


def _refusal(mistake: Mistake, rules: AddressRules) -> str:
    country = rules.country
    texts = {
        Mistake.MISSING: f"An address in {country} needs one, like {rules.example}.",
        Mistake.WRONG_POSTAL_CODE: f"This must be a postal code of {country}, like {rules.example}.",
        Mistake.UNKNOWN_STATE: f"This must be a state of {country} by its code or its name.",
        Mistake.WRONG_PHONE: "This must be a phone number, like +36 1 234 5678.",
    }
    return texts[mistake]
