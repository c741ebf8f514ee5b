"""What emails of the outbox show of an order: its lines with their pictures, what it comes to, and its number."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from orders.business import Line, OrderKind, registry
from orders.emails import pictures
from orders.emails.letter import Block, Facts, Items, Paragraph, one_line
from orders.fields.order_numbers import spoken_number
from orders.selectors.tracked_orders import TrackedOrder
from orders.wording.customers.ordered_items import ordered_items


def the_order(tracked: TrackedOrder, *, facts: Sequence[tuple[str, str]] = ()) -> Sequence[Block]:
    """The order in blocks of a letter. `facts` are shown after its number."""
    order = tracked.order
    blocks: list[Block] = []
    if order.lines:
        blocks.append(_items(tracked))
    elif order.title:
        blocks.append(Paragraph(one_line(order.title)))
    return [*blocks, Facts([(_("Order number"), spoken_number(order.id)), *facts])]


def _items(tracked: TrackedOrder) -> Items:
    order = tracked.order
    kind = registry.find_kind(order.workflow) or OrderKind
    skus = [line.sku for line in order.lines]
    drawn = kind.pictures(skus[: pictures.MOST], width=pictures.DRAWN)
    lines = (
        Line(sku=line.sku, title=line.title, quantity=line.quantity, unit_price=line.unit_price.amount)
        for line in order.lines
    )
    return ordered_items(
        lines,
        total=order.total,
        names=kind.line_names(skus),
        pictures=pictures.inline(drawn, order_id=order.id),
        sums=kind.sum_rows(tracked.data),
    )
