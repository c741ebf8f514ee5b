"""The design that a poster is drawn from, read from a product's JSON, whatever that contains. Pure."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from orders.shop.posters.sheet import Palette

COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
PLAIN = Palette(ground="#f4efe6", ink="#1f3a4d", mid="#3f7085", soft="#8fb3b8", accent="#d9673c")
"""Replaces each colour that is missing or invalid."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """A family of drawings, a form of that family ("" lets the seed choose), a seed, and colours."""

    family: str
    form: str
    seed: int
    palette: Palette


def read(raw: object) -> Design:
    """The design in a product's JSON. Anything missing, mistyped or hostile is replaced, never passed on."""
    fields: Mapping[object, object] = raw if isinstance(raw, Mapping) else {}
    return Design(
        family=_word(fields.get("family")),
        form=_word(fields.get("form")),
        seed=_seed(fields.get("seed")),
        palette=_palette(fields.get("palette")),
    )


def fingerprint(design: Design, *, salt: str) -> str:
    """Twelve hexadecimal digits that change with the design and with `salt`."""
    return hashlib.sha256(f"{salt}|{design!r}".encode()).hexdigest()[:12]


def _word(value: object) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[a-z]{1,20}", value) else ""


def _seed(value: object) -> int:
    return value % 2**32 if isinstance(value, int) and not isinstance(value, bool) else 0


def _palette(value: object) -> Palette:
    plain = (PLAIN.ground, PLAIN.ink, PLAIN.mid, PLAIN.soft, PLAIN.accent)
    colours = value[:5] if isinstance(value, list) else []
    colours = [
        colour.lower() if isinstance(colour, str) and COLOUR.fullmatch(colour) else default
        for colour, default in zip([*colours, *plain[len(colours) :]], plain, strict=True)
    ]
    return Palette(ground=colours[0], ink=colours[1], mid=colours[2], soft=colours[3], accent=colours[4])
