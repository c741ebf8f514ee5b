"""The rows of an order's sum as emails and the console show them."""

from collections.abc import Sequence

from babel import Locale
from django.utils.translation import gettext as _

from orders.business.sum_rows import SumRow
from orders.wording.units import money


def added_rows(rows: Sequence[SumRow], *, locale: Locale) -> Sequence[tuple[str, str]]:
    """Those that are added to an order's lines, each with a label and a sum."""
    return [
        (row.label, money(row.amount, locale=locale) if row.amount.amount else _("free"))
        for row in rows
        if not row.is_included
    ]


def included_rows(rows: Sequence[SumRow], *, locale: Locale) -> Sequence[tuple[str, str]]:
    """Those that the total includes."""
    return [(row.label, money(row.amount, locale=locale)) for row in rows if row.is_included]
