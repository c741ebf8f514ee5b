"""What an order consists of, as every email about it lists it."""

from collections.abc import Iterable, Mapping, Sequence

from django.utils.translation import gettext as _

from orders.business.lines import Line, LineName
from orders.business.sum_rows import SumRow
from orders.emails.letter import Item, Items, Picture, one_line
from orders.fields.locales import reader_locale
from orders.fields.money import Money
from orders.wording.sums import added_rows, included_rows
from orders.wording.units import money


def ordered_items(
    lines: Iterable[Line],
    *,
    total: Money | None,
    names: Mapping[str, LineName],
    pictures: Mapping[str, Picture],
    sums: Sequence[SumRow] = (),
) -> Items:
    """The lines, in the active language, the total, and what it consists of beside the lines. Without a total nothing
    has a sum. `names` and `pictures` are by SKU; a line without a name has its own title."""
    sums = sums if total else ()
    return Items(
        rows=[
            Item(
                title=one_line(name.title),
                details=one_line(name.details),
                quantity=str(line.quantity),
                amount=_money(line.quantity * line.unit_price, total.currency) if total else "",
                picture=pictures.get(line.sku),
            )
            for line in lines
            for name in [names.get(line.sku) or LineName(title=line.title)]
        ],
        total=(_("Total"), _money(total.amount, total.currency)) if total else None,
        added=added_rows(sums, locale=reader_locale()),
        included=included_rows(sums, locale=reader_locale()),
    )


def _money(amount: int, currency: str) -> str:
    return money(Money(amount=amount, currency=currency), locale=reader_locale())
