"""What a customer may try when no poster matches: only what she has chosen can be chosen otherwise."""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from orders.shop import search

OTHER_FILTERS: Mapping[tuple[bool, bool, bool], str | Promise] = {
    (True, False, False): _("Try another family."),
    (False, True, False): _("Try another size."),
    (False, False, True): _("Try a wider price range."),
    (True, True, False): _("Try another family or size."),
    (True, False, True): _("Try another family or a wider price range."),
    (False, True, True): _("Try another size or a wider price range."),
    (True, True, True): _("Try another family or size, or a wider price range."),
}
"""By whether another family helps, and whether a size and a price are chosen."""


def advice(query: Mapping[str, Any], *, others: int) -> str | Promise:
    """What to try where no poster matches, but so many `others` in other families do; empty if nothing is chosen that
    helps. Where no poster at all has the words, only other words help: a poster in another family, or at another
    price, would be shown in place of advice."""
    if query["q"]:
        return _("Try fewer words.") if len(search.words_of(query["q"])) > 1 else _("Try another word.")
    has_price = query["min"] is not None or query["max"] is not None
    return OTHER_FILTERS.get((bool(query["family"] and others), bool(query["size"]), has_price), "")
