"""The form behind a catalogue's query string. Invalid values are ignored, so a mangled link still shows posters.

?q=sea&family=waves&size=45x60&min=20&max=60&sort=-price&page=2

Prices are in units of the shop's currency, with or without decimals; one that cannot be read is ignored, and its field
says so. A size is in centimetres, as products have it.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from orders.fields.numbers import read_whole_number
from orders.shop import search
from orders.shop.catalogue import PosterFilter
from orders.shop.posters import FAMILIES
from orders.shop.storefront.price_fields import PriceField, price_text
from orders.shop.storefront.search_terms import mood_words, read_terms

PER_PAGE = 24
LONGEST_TEXT = 100
LARGEST_TYPED, LARGEST_NUMBER = 999_999_999, 1_000_000
"""Page numbers above the first are ignored; those above the second are lowered to it."""
FEATURED = "featured"

FAMILY_NAMES: dict[str, str | Promise] = {
    "waves": _("Waves"),
    "sun": pgettext_lazy("posters that show the sun", "Sun"),
    "grid": _("Grids"),
    "contours": _("Contours"),
    "bauhaus": _("Bauhaus"),
    "constellation": _("Constellations"),
}
SORTS: dict[str, str | Promise] = {
    FEATURED: _("Featured"),
    "newest": _("Newest"),
    "price": _("Price, low to high"),
    "-price": _("Price, high to low"),
    "title": pgettext_lazy("posters in the order of their titles", "Title"),
}


class SearchField(forms.CharField):
    """The words that a poster must have, cut to a sensible length."""

    def to_python(self, value: Any) -> str:
        """The words with single spaces between them."""
        return " ".join(str(value or "").split())[:LONGEST_TEXT]


class NumberField(forms.Field):
    """A whole number in digits, or nothing."""

    def to_python(self, value: Any) -> int | None:
        """The number. Raises `ValidationError` for any other text."""
        if not value:
            return None
        number = read_whole_number(value, largest=LARGEST_TYPED)
        if number is None:
            raise forms.ValidationError(_("Enter a whole number."), code="invalid")
        return min(number, LARGEST_NUMBER)


class CatalogueForm(forms.Form):
    """A catalogue's filters, sorting and page. `cleaned_data` has every field, whatever the query string was."""

    q = SearchField(required=False, initial="")
    family = forms.ChoiceField(
        required=False, initial="", choices=[(family, FAMILY_NAMES[family]) for family in FAMILIES]
    )
    size = forms.ChoiceField(required=False, initial="")
    min = PriceField(bound="lowest")
    max = PriceField(bound="highest")
    sort = forms.ChoiceField(required=False, initial=FEATURED, choices=list(SORTS.items()))
    page = NumberField(required=False, initial=1)

    def __init__(self, query: QueryDict, *, sizes: Collection[str]) -> None:
        super().__init__(query)
        self._sizes = sizes
        self.fields["size"].choices = [(size, size) for size in sizes]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Gives the fields that are missing or wrong their initial values, and swaps prices in the wrong order."""
        query = self.cleaned_data
        for name, field in self.fields.items():
            if query.get(name) in (None, ""):
                query[name] = field.initial
        if query["min"] is not None and query["max"] is not None and query["min"] > query["max"]:
            query["min"], query["max"] = query["max"], query["min"]
        return query

    @property
    def has_wrong_price(self) -> bool:
        """Whether a price cannot be read."""
        return "min" in self.errors or "max" in self.errors

    @cached_property
    def prices(self) -> Mapping[str, str]:
        """The lowest and the highest price as their fields show them: what was typed, if it cannot be read."""
        return {
            name: self.data[name] if name in self.errors else price_text(self.cleaned_data[name])
            for name in ("min", "max")
        }

    @property
    def is_filtered(self) -> bool:
        """Whether it may exclude any posters."""
        query = self.cleaned_data
        return bool(query["q"] or query["family"]) or self.poster_filter.chooses_offers

    @cached_property
    def words_filter(self) -> PosterFilter:
        """What the words of the search say alone, in any family and at any price."""
        if not self.cleaned_data["q"]:
            return PosterFilter()
        terms = read_terms(self.cleaned_data["q"], sizes=self._sizes)
        family_words = {family: search.words_of(str(name)) for family, name in FAMILY_NAMES.items()}
        return PosterFilter(
            text=terms.text, names={**family_words, **mood_words()}, size=terms.size, edition=terms.edition
        )

    @property
    def poster_filter(self) -> PosterFilter:
        """The filters and the sorting for the selector, with prices in minor units."""
        query = self.cleaned_data
        return replace(
            self.words_filter,
            family=query["family"],
            size=query["size"] or self.words_filter.size,
            price_from=query["min"],
            price_to=query["max"],
            sort=query["sort"],
        )


def read(query: QueryDict, *, sizes: Collection[str]) -> CatalogueForm:
    """The form, cleaned. Only these sizes can be chosen."""
    form = CatalogueForm(query, sizes=sizes)
    form.full_clean()
    return form
