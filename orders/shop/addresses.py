"""How an address is written."""

from collections.abc import Mapping

from orders.emails.letter import one_line
from orders.fields import countries
from orders.fields.address_rules import address_lines


def written_address(ship_to: Mapping[str, str]) -> str:
    """An order's address line by line, as it is written in its country, with the country's name in the reader's
    language."""
    parts = {part: one_line(text) for part, text in ship_to.items()}
    return "\n".join(address_lines(parts, country_name=countries.name(parts["country"])))
