"""The lines of an order, and what people see of what they name. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of an order. `sku` is the code of what was ordered; `unit_price` is in minor units."""

    sku: str
    title: str
    quantity: int = 1
    unit_price: int = 0


@dataclass(frozen=True, kw_only=True)
class LineName:
    """What customers read of what was ordered: its `title`, and `details` that tell it from others of that title, such
    as its size, in the active language."""

    title: str
    details: str = ""

    @property
    def whole(self) -> str:
        """Title and details on one line: "Tidal Lines · 60 × 80 cm · Open edition"."""
        return " · ".join(part for part in (self.title, self.details) if part)


@dataclass(frozen=True, kw_only=True)
class LinePicture:
    """A picture of what was ordered, as a PNG, with its size in pixels."""

    png: bytes
    width: int
    height: int
