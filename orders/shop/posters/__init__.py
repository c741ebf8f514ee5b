"""Posters drawn as SVG from a product's own parameters: the same design always gives the same picture.

    draw({"family": "waves", "form": "lines", "seed": 11, "palette": ["#f4efe6", …]})

A family is one module here, with its `FORMS`: each is a function that draws on a `Sheet`. A new family is a new module
and a line in `FAMILIES`; a new form is a function and a line in its module. Posters are 3:4 and at most 6 KB. When you
change how something is drawn, raise `DRAWN`, so that browsers fetch the picture again.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

import resvg_py

from orders.shop.posters import bauhaus, constellation, contours, grid, sun, waves
from orders.shop.posters import design as designs
from orders.shop.posters.design import Design
from orders.shop.posters.sheet import HEIGHT, WIDTH, Sheet

DRAWN = "1"
"""The generation of the drawings, part of every picture's URL."""

FAMILIES: Mapping[str, Mapping[str, Callable[[Sheet], None]]] = {
    "waves": waves.FORMS,
    "sun": sun.FORMS,
    "grid": grid.FORMS,
    "contours": contours.FORMS,
    "bauhaus": bauhaus.FORMS,
    "constellation": constellation.FORMS,
}

__all__ = ["FAMILIES", "HEIGHT", "WIDTH", "draw", "fingerprint", "paint", "paper_colour"]


def draw(raw: object) -> str:
    """The picture as an SVG document. Any value is accepted; invalid parts are replaced."""
    design = designs.read(raw)
    form = _form(design)
    sheet = Sheet(key=f"p{fingerprint(raw)}", seed=design.seed, palette=design.palette)
    form(sheet)
    return sheet.svg()


def paint(raw: object, *, width: int) -> bytes:
    """The picture as a PNG so many pixels wide, for programs that show no SVG. It takes some 20 ms, the first time."""
    return _painted(draw(raw), width)


@lru_cache(maxsize=256)
def _painted(svg: str, width: int) -> bytes:
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width, skip_system_fonts=True))


def fingerprint(raw: object) -> str:
    """An id of this picture for its URL."""
    return designs.fingerprint(designs.read(raw), salt=DRAWN)


def paper_colour(raw: object) -> str:
    """The colour that the picture is drawn on, such as "#f4efe6"."""
    return designs.read(raw).palette.ground


def _form(design: Design) -> Callable[[Sheet], None]:
    names = sorted(FAMILIES)
    forms = FAMILIES[design.family if design.family in FAMILIES else names[design.seed % len(names)]]
    return forms.get(design.form) or forms[sorted(forms)[design.seed % len(forms)]]
