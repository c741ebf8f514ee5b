"""The numbered editions of the demonstration. Of some, few prints are left, and one is sold out."""

from collections.abc import Mapping

from orders.shop.demo.posters import POSTERS, Poster

USUAL: Mapping[str, int] = {"45x60": 200, "60x80": 100}
"""How many signed prints there are of a poster, by their size."""
SMALL: Mapping[tuple[str, str], tuple[int, int]] = {
    ("winter-atlas", "60x80"): (25, 3),
    ("signal-fires", "60x80"): (10, 0),
}
"""Of some posters there are fewer: how many there are, and how many of them are left at the start."""


def edition_size(poster: str, size: str) -> int:
    """How many signed prints there are of a poster in a size."""
    return SMALL.get((poster, size), (USUAL[size], 0))[0]


def first_stock() -> Mapping[str, Mapping[str, int]]:
    """What the warehouse has at the start of each edition, by SKU, as the sandbox reads it (docs/sandbox.md)."""
    return {
        f"{poster.sku}-{size}-signed": {"left": _left(poster, size), "of": edition_size(poster.sku, size)}
        for poster in POSTERS
        for size in USUAL
    }


def _left(poster: Poster, size: str) -> int:
    """More than a few, unless the edition is a small one."""
    usual = USUAL[size]
    return SMALL.get((poster.sku, size), (0, usual - poster.seed * 7 % (usual * 4 // 5)))[1]
