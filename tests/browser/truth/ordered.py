"""The lines of an order and the rows of its sum, as they must stand on its page and in its emails."""

from collections.abc import Iterator

from orders.fields import countries
from tests.browser.truth.facts import Known


def are_sums(k: Known) -> bool:
    """Whether these are the rows of the order's data, which add up: what delivery costs and where it goes, the total,
    and how much of it is tax."""
    return k.values["rows"] == "; ".join(_rows(k))


def are_lines(k: Known) -> bool:
    """Whether these are the lines of the order's data: on its page with the price of each print, in an email with what
    the line comes to."""
    lines = [(line["quantity"], _poster(line["title"]), line["unit_price"]) for line in k.data["lines"]]
    page = [f"{title}: {quantity} × {_euros(price)}" for quantity, title, price in lines]
    email = [f"{quantity} × {title}: {_euros(quantity * price)}" for quantity, title, price in lines]
    return k.values["rows"] in ("; ".join(page), "; ".join(email))


def _poster(title: str) -> str:
    """A poster's own title. In the order's data the print's size and edition follow it: "First Sun, 45 × 60 cm"."""
    return title.partition(", ")[0]


def _rows(k: Known) -> Iterator[str]:
    data = k.data
    delivery, tax, total = data["delivery"], data["tax"], data["total"]
    assert total == sum(line["quantity"] * line["unit_price"] for line in data["lines"]) + delivery["price"]
    assert abs(total - tax["amount"] - total / (1 + tax["rate"] / 10_000)) < 1
    country = countries.name_in_sentence(data["ship_to"]["country"])
    yield f"Delivery to {country}: {_euros(delivery['price'])}"
    yield f"Total: {_euros(total)}"
    yield f"Includes {tax['rate'] / 100:g}% VAT: {_euros(tax['amount'])}"


def _euros(amount: int) -> str:
    return f"€{amount / 100:,.2f}" if amount else "free"
