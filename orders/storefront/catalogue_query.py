"""What a catalogue's URL asks for. Values that make no sense are left out: a link that was mangled still shows posters.

?q=sea&family=waves&min=20&max=60&sort=-price&page=2      prices are in whole units of the shop's currency
"""

from dataclasses import dataclass

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from orders.posters import FAMILIES
from orders.selectors.catalogue import Wanted

PER_PAGE = 24
LONGEST_TEXT = 100
LARGEST_NUMBER = 1_000_000

FAMILY_NAMES: dict[str, str | Promise] = {
    "waves": _("Waves"),
    "sun": _("Sun"),
    "grid": _("Grids"),
    "contours": _("Contours"),
    "bauhaus": _("Bauhaus"),
    "constellation": _("Constellations"),
}
SORTS: dict[str, str | Promise] = {
    "featured": _("Featured"),
    "newest": _("Newest"),
    "price": _("Price, low to high"),
    "-price": _("Price, high to low"),
    "title": _("Title"),
}


@dataclass(frozen=True, kw_only=True)
class Question:
    """A catalogue's URL, read. `least` and `most` are as they are shown in their fields."""

    text: str
    family: str
    least: int | None
    most: int | None
    sort: str
    page: int

    @property
    def wanted(self) -> Wanted:
        """What the selectors are asked for."""
        return Wanted(
            text=self.text,
            family=self.family,
            price_from=None if self.least is None else self.least * 100,
            price_to=None if self.most is None else self.most * 100,
            sort=self.sort,
        )

    @property
    def is_filtered(self) -> bool:
        """Whether it asks for less than everything."""
        return bool(self.text or self.family) or self.least is not None or self.most is not None


def read(query: QueryDict) -> Question:
    """Reads the query string of a catalogue's URL."""
    family, sort = query.get("family", ""), query.get("sort", "")
    return Question(
        text=" ".join(query.get("q", "").replace("\x00", " ").split())[:LONGEST_TEXT],
        family=family if family in FAMILIES else "",
        least=_number(query.get("min", "")),
        most=_number(query.get("max", "")),
        sort=sort if sort in SORTS else "featured",
        page=_number(query.get("page", "")) or 1,
    )


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    return min(int(text), LARGEST_NUMBER) if is_number else None
