"""How an address is written in an email."""

from collections.abc import Mapping

from orders.emails.letter import one_line
from orders.fields import countries


def written_address(ship_to: Mapping[str, str]) -> str:
    """An order's address in four lines, with the country's name in the reader's language."""
    place = f"{ship_to['postal_code']} {ship_to['city']}"
    country = countries.name(one_line(ship_to["country"]))
    return "\n".join(one_line(part) for part in (ship_to["name"], ship_to["street"], place, country))
