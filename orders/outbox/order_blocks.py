"""What emails of the outbox show of an order: its lines with their pictures, what it comes to, and its number."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from orders.business import registry
from orders.emails import pictures
from orders.emails.letter import Block, Facts, Item, Items, Paragraph, Picture, one_line
from orders.fields.locales import reader_locale
from orders.fields.money import Money
from orders.fields.order_numbers import spoken_number
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.tracked_orders import TrackedOrder
from orders.wording.sums import added_rows, included_rows
from orders.wording.units import money


def the_order(tracked: TrackedOrder, *, facts: Sequence[tuple[str, str]] = ()) -> Sequence[Block]:
    """The order in blocks of a letter. `facts` are shown after its number."""
    order = tracked.order
    blocks: list[Block] = []
    if order.lines:
        drawn = _pictures(order)
        rows = [
            Item(
                title=one_line(line.title),
                quantity=str(line.quantity),
                amount=_sum(line.quantity, line.unit_price) if order.total else "",
                picture=drawn.get(line.sku),
            )
            for line in order.lines
        ]
        total = (_("Total"), money(order.total, locale=reader_locale())) if order.total else None
        kind, locale = registry.find_kind(order.workflow), reader_locale()
        sums = kind.sum_rows(tracked.data) if kind and order.total else ()
        added, included = added_rows(sums, locale=locale), included_rows(sums, locale=locale)
        blocks.append(Items(rows=rows, total=total, added=added, included=included))
    elif order.title:
        blocks.append(Paragraph(one_line(order.title)))
    return [*blocks, Facts([(_("Order number"), spoken_number(order.id)), *facts])]


def _sum(quantity: int, price: Money) -> str:
    total = Money(amount=quantity * price.amount, currency=price.currency)
    return money(total, locale=reader_locale())


def _pictures(order: CustomerOrder) -> dict[str, Picture]:
    kind = registry.find_kind(order.workflow)
    skus = [line.sku for line in order.lines[: pictures.MOST]]
    drawn = kind.pictures(skus, width=pictures.DRAWN) if kind else {}
    return pictures.inline(drawn, order_id=order.id)
