"""What an order consists of, as every email about it lists it."""

from collections.abc import Iterable, Mapping, Sequence

from django.utils.translation import gettext as _

from orders.business.lines import Line, LineName
from orders.emails.letter import Item, Items, Picture, one_line
from orders.fields.locales import reader_locale
from orders.fields.money import Money
from orders.wording.units import money


def ordered_items(
    lines: Iterable[Line],
    *,
    total: Money | None,
    names: Mapping[str, LineName],
    pictures: Mapping[str, Picture],
    rows_between: Sequence[tuple[str, str]] = (),
) -> Items:
    """The lines, in the active language, `rows_between` and the total. Without a total no line has a sum. `names` and
    `pictures` are by SKU; a line without a name has its own title."""
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
        rows_between=rows_between,
        total=(_("Total"), _money(total.amount, total.currency)) if total else None,
    )


def _money(amount: int, currency: str) -> str:
    return money(Money(amount=amount, currency=currency), locale=reader_locale())
