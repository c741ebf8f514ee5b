"""The demonstration catalogue: 24 posters by artists who do not exist, each in five sizes and editions.

A poster's picture is drawn from its `design`: a family of drawings, a form of that family, a seed, and five colours
from the ground to the strongest accent. The same design always gives the same picture.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Family: TypeAlias = Literal["waves", "sun", "grid", "contours", "bauhaus", "constellation"]

CURRENCY = "EUR"


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A size (centimetres) and an edition in which every poster is sold, at this per cent of its price."""

    size: str
    edition: Literal["open", "signed"]
    per_cent: int

    def sku(self, poster: str) -> str:
        """The SKU of a poster so offered; the poster's own when it is the one that the catalogue shows."""
        if self == SHOWN:
            return poster
        return f"{poster}-{self.size}" + ("-signed" if self.edition == "signed" else "")

    def price(self, price: int) -> int:
        """The price in cents, in whole units."""
        return round(price * self.per_cent / 10_000) * 100


SHOWN = Offer(size="30x40", edition="open", per_cent=100)
OFFERS = (
    SHOWN,
    Offer(size="45x60", edition="open", per_cent=160),
    Offer(size="60x80", edition="open", per_cent=230),
    Offer(size="45x60", edition="signed", per_cent=290),
    Offer(size="60x80", edition="signed", per_cent=390),
)


@dataclass(frozen=True, kw_only=True)
class Poster:
    """One product of the catalogue. `price` is in cents; `palette` has five colours, the ground first."""

    sku: str
    title: str
    artist: str
    description: str
    price: int
    family: Family
    form: str
    seed: int
    palette: tuple[str, str, str, str, str]

    def design(self) -> dict[str, Any]:
        """The parameters of its picture, as `Product.design` keeps them."""
        return {"family": self.family, "form": self.form, "seed": self.seed, "palette": list(self.palette)}


CATALOGUE: tuple[Poster, ...] = (
    Poster(
        sku="tidal-lines",
        title="Tidal Lines",
        artist="Maren Oost",
        description="Forty-one lines that a calm sea might have drawn. The longer you look, the slower it gets.",
        price=3900,
        family="waves",
        form="lines",
        seed=11,
        palette=("#f4efe6", "#1f3a4d", "#3f7085", "#8fb3b8", "#d9673c"),
    ),
    Poster(
        sku="north-swell",
        title="North Swell",
        artist="Maren Oost",
        description="The hour before a gale, in slate and foam. Made for a hallway with a coat stand.",
        price=4400,
        family="waves",
        form="swell",
        seed=27,
        palette=("#e9edf0", "#17222d", "#41566a", "#93a7b5", "#e0b040"),
    ),
    Poster(
        sku="low-tide-blush",
        title="Low Tide, Blush",
        artist="Ilse Tamburin",
        description="Wet sand at six in the morning, when everything that is not pink is silver.",
        price=3400,
        family="waves",
        form="shore",
        seed=43,
        palette=("#fbeee8", "#7a3b47", "#c9776f", "#eab8a4", "#5b7f86"),
    ),
    Poster(
        sku="harbour-at-two",
        title="Harbour at Two",
        artist="Teo Lindqvarn",
        description="Lamps on black water. A quiet print for a room with one good chair.",
        price=5200,
        family="waves",
        form="harbour",
        seed=58,
        palette=("#101a2b", "#f2d492", "#3c5a80", "#7d9cc0", "#e4572e"),
    ),
    Poster(
        sku="first-sun",
        title="First Sun",
        artist="Oriol Benavent-Hale",
        description="The year's first warm morning, cut into seven discs. It hangs best where it meets the real one.",
        price=4900,
        family="sun",
        form="discs",
        seed=3,
        palette=("#fff3dc", "#e4572e", "#f29e4c", "#f6c667", "#2f4858"),
    ),
    Poster(
        sku="sun-over-salt",
        title="Sun over Salt",
        artist="Oriol Benavent-Hale",
        description="A white plain, a red disc, and heat you can hear.",
        price=4600,
        family="sun",
        form="plain",
        seed=19,
        palette=("#f7f4ef", "#b8322a", "#dd7a57", "#e8c7a8", "#3a3a44"),
    ),
    Poster(
        sku="evening-in-olive",
        title="Evening in Olive",
        artist="Ilse Tamburin",
        description="The last light on a hillside, remembered rather than seen.",
        price=3700,
        family="sun",
        form="hills",
        seed=36,
        palette=("#f1ecd7", "#4d5a2a", "#8b8f48", "#cbb865", "#c2572b"),
    ),
    Poster(
        sku="polar-noon",
        title="Polar Noon",
        artist="Juno Akerstrand",
        description="A sun that never climbs, in eleven blues and one stubborn yellow.",
        price=5400,
        family="sun",
        form="polar",
        seed=64,
        palette=("#dfe9f2", "#173a5e", "#4779a6", "#9cbfdc", "#f3c13a"),
    ),
    Poster(
        sku="city-block-nine",
        title="City Block Nine",
        artist="Pell Varga-Ito",
        description="Windows, lit and unlit, counted from the tram. Somebody on the fourth floor is still up.",
        price=2900,
        family="grid",
        form="windows",
        seed=5,
        palette=("#1d1f2b", "#f5c84c", "#53597a", "#8b90ad", "#e8e6df"),
    ),
    Poster(
        sku="warp-and-weft",
        title="Warp and Weft",
        artist="Nanette Korrigan",
        description="A weaver's draft for a cloth nobody has woven yet.",
        price=3200,
        family="grid",
        form="weave",
        seed=22,
        palette=("#f6f1e7", "#234e52", "#5f9ea0", "#d9a441", "#a63d40"),
    ),
    Poster(
        sku="small-squares-loud",
        title="Small Squares, Loud",
        artist="Pell Varga-Ito",
        description="A hundred and forty-four squares, each sure that it is the one in the middle.",
        price=1900,
        family="grid",
        form="squares",
        seed=39,
        palette=("#fffaf0", "#e63946", "#457b9d", "#f4a261", "#2a9d8f"),
    ),
    Poster(
        sku="greenhouse",
        title="Greenhouse",
        artist="Nanette Korrigan",
        description="Panes and leaves that have agreed on a pattern after all these years.",
        price=3600,
        family="grid",
        form="panes",
        seed=71,
        palette=("#eef3ea", "#20402b", "#4f8a5b", "#a7cba0", "#e9b44c"),
    ),
    Poster(
        sku="quiet-summit",
        title="Quiet Summit",
        artist="Halvard Eisen",
        description="Every contour of a mountain that can be climbed in slippers.",
        price=4200,
        family="contours",
        form="topo",
        seed=8,
        palette=("#f3f1ea", "#2e3d36", "#5d7d6c", "#a4bfae", "#d98e3f"),
    ),
    Poster(
        sku="island-without-a-name",
        title="Island Without a Name",
        artist="Halvard Eisen",
        description="Surveyed twice, found never. The depth lines are said to be accurate.",
        price=5900,
        family="contours",
        form="island",
        seed=31,
        palette=("#e6f0f0", "#0f4c5c", "#3c8d93", "#9ad1c8", "#e36414"),
    ),
    Poster(
        sku="desert-memory",
        title="Desert Memory",
        artist="Juno Akerstrand",
        description="What the wind wrote on Tuesday, before it changed its mind.",
        price=4500,
        family="contours",
        form="dunes",
        seed=47,
        palette=("#fbf0df", "#8c4a2f", "#c97b4a", "#e8b27d", "#3d5a6c"),
    ),
    Poster(
        sku="growth-rings",
        title="Growth Rings",
        artist="Teo Lindqvarn",
        description="Three hundred summers in cross-section, the dry ones drawn closer together.",
        price=3800,
        family="contours",
        form="rings",
        seed=83,
        palette=("#f5ead9", "#3b2a20", "#7b563d", "#b98d62", "#5f7f52"),
    ),
    Poster(
        sku="three-good-shapes",
        title="Three Good Shapes",
        artist="Lotte Brandauer-Sy",
        description="A circle, a square and a triangle, who get on better than they are usually given credit for.",
        price=4800,
        family="bauhaus",
        form="trio",
        seed=2,
        palette=("#f4f0e4", "#1c1c1c", "#d62828", "#f2b705", "#1d5fa8"),
    ),
    Poster(
        sku="workshop-door",
        title="Workshop Door",
        artist="Lotte Brandauer-Sy",
        description="Hinges, handle, and the colour of the paint that was left over.",
        price=5600,
        family="bauhaus",
        form="door",
        seed=17,
        palette=("#efe9dc", "#2b2d42", "#ef6f3c", "#5b8e7d", "#f4d35e"),
    ),
    Poster(
        sku="orchestra-pit",
        title="Orchestra Pit",
        artist="Caspian Rook",
        description="Quarter circles tuning up. The cello is the large brown one.",
        price=6400,
        family="bauhaus",
        form="quarters",
        seed=33,
        palette=("#f7efe3", "#4a2c2a", "#9e5a3c", "#d9a566", "#23395b"),
    ),
    Poster(
        sku="mint-machine",
        title="Mint Machine",
        artist="Caspian Rook",
        description="A device of no known purpose, in perfect working order.",
        price=4100,
        family="bauhaus",
        form="machine",
        seed=52,
        palette=("#eaf4ee", "#14453d", "#3fa084", "#f28482", "#f6bd60"),
    ),
    Poster(
        sku="winter-atlas",
        title="Winter Atlas",
        artist="Sefa Moonen",
        description="The sky over a snowed-in village, with the lines that the children drew between the stars.",
        price=6900,
        family="constellation",
        form="atlas",
        seed=13,
        palette=("#0e1726", "#f4f1de", "#5c7aa8", "#a9bcd6", "#f2cc8f"),
    ),
    Poster(
        sku="the-minor-heron",
        title="The Minor Heron",
        artist="Sefa Moonen",
        description="A constellation that is seen only by those who stayed for one more coffee.",
        price=7400,
        family="constellation",
        form="figure",
        seed=29,
        palette=("#1a1430", "#ede7f6", "#7e6bb0", "#b8a9d9", "#f7b267"),
    ),
    Poster(
        sku="signal-fires",
        title="Signal Fires",
        artist="Juno Akerstrand",
        description="News of a birth, crossing a mountain range in eleven minutes.",
        price=8900,
        family="constellation",
        form="fires",
        seed=41,
        palette=("#1b1a1f", "#ffdf9e", "#b5532a", "#e88d3f", "#6c6f7d"),
    ),
    Poster(
        sku="daylight-stars",
        title="Daylight Stars",
        artist="Maren Oost",
        description="They are up there at noon as well. This one is for remembering it.",
        price=4700,
        family="constellation",
        form="trails",
        seed=66,
        palette=("#eef4f8", "#24527a", "#6a9cc4", "#b7d3e6", "#e5674f"),
    ),
)
