"""The sheet of paper that a poster is drawn on: shapes go in, SVG comes out.

Only presentation attributes are written, never `style`, so that a strict content security policy holds. Ids begin with
a key specific to the poster, so that one page may contain many posters.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar
from xml.sax.saxutils import quoteattr

WIDTH, HEIGHT = 600, 800

T = TypeVar("T")
Point = tuple[float, float]
Attribute = str | float


@dataclass(frozen=True, kw_only=True)
class Palette:
    """Five colours as `#rrggbb`, from the ground to the strongest accent."""

    ground: str
    ink: str
    mid: str
    soft: str
    accent: str


class Chance:
    """Random choices, decided by a seed. Built on `Random.random` alone, whose numbers are the same in every Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def between(self, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        return low + (high - low) * self._random.random()

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int((high - low + 1) * self._random.random())

    def one_of(self, things: Sequence[T]) -> T:
        """One of these."""
        return things[self.whole(0, len(things) - 1)]

    def happens(self, probability: float) -> bool:
        """True with this probability."""
        return self._random.random() < probability


class Sheet:
    """A sheet with a ground of one colour, the poster's palette and its random choices."""

    def __init__(self, *, key: str, seed: int, palette: Palette) -> None:
        self.chance = Chance(seed)
        self.palette = palette
        self._key = key
        self._definitions: list[str] = []
        self._shapes: list[str] = []
        self.rect(0, 0, WIDTH, HEIGHT, fill=palette.ground)

    def rect(self, x: float, y: float, width: float, height: float, **attributes: Attribute) -> None:
        """A rectangle."""
        self._add("rect", x=x, y=y, width=width, height=height, **attributes)

    def circle(self, x: float, y: float, radius: float, **attributes: Attribute) -> None:
        """A circle."""
        self._add("circle", cx=x, cy=y, r=radius, **attributes)

    def ring(
        self, x: float, y: float, radius: float, colour: str, width: float, **attributes: Attribute
    ) -> None:
        """The outline of a circle."""
        self.circle(x, y, radius, fill="none", stroke=colour, stroke_width=width, **attributes)

    def path(self, line: str, **attributes: Attribute) -> None:
        """A path in SVG's own notation; `orders.shop.posters.lines` writes them."""
        self._add("path", d=line, **attributes)

    def line(self, line: str, colour: str, width: float, **attributes: Attribute) -> None:
        """The outline of a path."""
        self.path(line, fill="none", stroke=colour, stroke_width=width, **attributes)

    def group(self, **attributes: Attribute) -> None:
        """Opens a group; `end` closes it."""
        self._shapes.append(f"<g{_written(attributes)}>")

    def end(self) -> None:
        """Closes the innermost group."""
        self._shapes.append("</g>")

    def fade(self, *stops: tuple[float, str, float], x2: float = 0, y2: float = 1, glow: bool = False) -> str:
        """A gradient of (offset, colour, opacity), downwards unless told; a `glow` runs from the centre outwards.

        Returns what a fill is set to.
        """
        inner = "".join(
            f"<stop{_written({'offset': at, 'stop_color': colour, 'stop_opacity': opacity})}/>"
            for at, colour, opacity in stops
        )
        kind, direction = (
            ("radialGradient", "") if glow else ("linearGradient", _written({"x2": x2, "y2": y2}))
        )
        return f"url(#{self._define(kind, direction, inner)})"

    def clip(self, line: str) -> str:
        """Clips to the inside of a path; returns the value for `clip_path`."""
        return f"url(#{self._define('clipPath', '', f'<path d={quoteattr(line)}/>')})"

    def svg(self) -> str:
        """The drawing as a complete document."""
        definitions = f"<defs>{''.join(self._definitions)}</defs>" if self._definitions else ""
        opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        return f"{opening}{definitions}{''.join(self._shapes)}</svg>"

    def _define(self, element: str, attributes: str, inner: str) -> str:
        name = f"{self._key}-{len(self._definitions)}"
        self._definitions.append(f'<{element} id="{name}"{attributes}>{inner}</{element}>')
        return name

    def _add(self, element: str, **attributes: Attribute) -> None:
        self._shapes.append(f"<{element}{_written(attributes)}/>")


def number(value: float) -> str:
    """A number to a tenth, written as short as possible."""
    text = f"{value:.1f}".rstrip("0").rstrip(".")
    text = "0" if text in ("-0", "") else text
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def mix(first: str, second: str, share: float) -> str:
    """A mix of two colours; a `share` of 0 is the first, 1 the second."""
    share = min(1.0, max(0.0, share))
    parts = [(int(first[at : at + 2], 16), int(second[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)


def lightness(colour: str) -> float:
    """How light a colour looks, from 0 to 1."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _written(attributes: dict[str, Attribute]) -> str:
    return "".join(f" {name.replace('_', '-')}={_value(name, value)}" for name, value in attributes.items())


def _value(name: str, value: Attribute) -> str:
    if isinstance(value, str):
        return quoteattr(value)
    # A tenth is fine enough for a length, not for a share.
    return f'"{value:.2f}"' if name in SHARES else f'"{number(value)}"'


SHARES = frozenset({"opacity", "fill_opacity", "stroke_opacity", "stop_opacity", "offset"})
