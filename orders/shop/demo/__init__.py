"""The demonstration's catalogue."""

from orders.shop.demo.catalogue import load_catalogue
from orders.shop.demo.posters import POSTERS


def load() -> str:
    """Loads what is missing, and says what there is."""
    load_catalogue()
    return f"{len(POSTERS)} posters"
