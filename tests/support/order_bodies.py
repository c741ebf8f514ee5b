"""What tests order: postal addresses, an email, the body that the API takes, and the body that is submitted."""

import copy
from typing import Any

EMAIL = "ada@example.com"

LONDON = {
    "name": "Ada Lovelace",
    "street": "12 St James's Square",
    "city": "London",
    "postal_code": "SW1Y 4JH",
    "country": "GB",
}
DELFT = {"name": "Ada", "street": "Lane 1", "city": "Delft", "postal_code": "2611 AB", "country": "NL"}
PARIS = {"name": "Ada", "street": "1 Main St", "city": "Paris", "postal_code": "75001", "country": "FR"}

BODY: dict[str, Any] = {
    "lines": [{"sku": "tidal-lines", "quantity": 2}, {"sku": "first-sun", "quantity": 1}],
    "ship_to": LONDON,
    "email": EMAIL,
    "payment_method": "card_ok",
}
"""An order, as a client of the API sends it."""

TOTAL = 2 * 3900 + 4900
"""What BODY costs, in minor units."""

SUBMITTED: dict[str, Any] = {
    "lines": [
        {"sku": "tidal-lines", "title": "Tidal Lines", "quantity": 2, "unit_price": 3900},
        {"sku": "first-sun", "title": "First Sun", "quantity": 1, "unit_price": 4900},
    ],
    "ship_to": PARIS,
    "email": EMAIL,
    "payment_method": "card_ok",
    "currency": "EUR",
    "total": TOTAL,
    "placed_at": "2030-01-01T12:00:00Z",
}
"""The same lines, as the shop posts them to the submission queue."""


def order_body(**changes: Any) -> dict[str, Any]:
    """A copy of BODY. `ship_to` changes parts of the address; anything else replaces a field."""
    body = copy.deepcopy(BODY)
    body["ship_to"] |= changes.pop("ship_to", {})
    return body | changes


def submitted_body(**changes: Any) -> dict[str, Any]:
    """A copy of SUBMITTED in which `changes` replace fields."""
    return copy.deepcopy(SUBMITTED) | changes
