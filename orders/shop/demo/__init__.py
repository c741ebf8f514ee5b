"""The demonstration's catalogue, and what its delivery costs."""

from orders.shop.demo.catalogue import load_catalogue
from orders.shop.demo.delivery import load_delivery
from orders.shop.demo.posters import POSTERS


def load() -> str:
    """Loads what is missing, and says what there is."""
    load_catalogue()
    load_delivery()
    return f"{len(POSTERS)} posters"
