"""Pictures of what was ordered, as parts of an email. Pure."""

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from orders.emails.letter import Picture

MOST = 4
"""The most lines of an order that have a picture."""
WIDTH = 72
"""How wide a picture is shown, in CSS pixels."""
DRAWN = 2 * WIDTH
"""How wide it is drawn, in pixels, so that it is sharp on dense screens."""


class Drawn(Protocol):
    """A PNG with its size in pixels."""

    @property
    def png(self) -> bytes: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...


def inline(drawn: Mapping[str, Drawn], *, order_id: UUID) -> dict[str, Picture]:
    """The pictures of an order's lines by SKU. Their ids follow from the order: the same order gives the same email."""
    return {
        sku: Picture(
            cid=f"picture{number}@{order_id.hex}",
            png=picture.png,
            width=WIDTH,
            height=round(WIDTH * picture.height / picture.width),
        )
        for number, (sku, picture) in enumerate(drawn.items())
    }
