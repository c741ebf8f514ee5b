"""How many prints of a numbered edition are sold: by the numbers that orders have, and by what is left of it."""

from collections.abc import Collection
from dataclasses import dataclass

from orders.selectors.step_answers import answers_about
from orders.shop.editions import numbers_of
from orders.shop.fulfilment import RESERVATION
from orders.shop.models import Product


@dataclass(frozen=True, kw_only=True)
class SoldPrints:
    """How many prints of an edition are sold, or reserved, and the highest of their numbers; 0 if none has one."""

    count: int
    highest: int

    @property
    def smallest_edition(self) -> int:
        """How many prints the edition has at least."""
        return max(self.count, self.highest)


def sold_prints(product: Product) -> SoldPrints:
    """Those of a product as it is stored. The warehouse may have sold some elsewhere, and then has fewer left. One
    statement."""
    answers = answers_about(product.sku, step=RESERVATION)
    editions = [edition for answer in answers if (edition := numbers_of(answer).get(product.sku))]
    numbers = {number for edition in editions for number in edition.numbers}
    difference = _gone(product.stock, {edition.size for edition in editions})
    return SoldPrints(count=max(len(numbers), difference), highest=max(numbers, default=0))


def _gone(stock: int | None, sizes: Collection[int]) -> int:
    """How many of an edition the warehouse no longer has, at least, as it last said. It counts from a size that it
    has given with its numbers: one that was entered since it learns with the next order."""
    if stock is None:
        return 0
    return min((size for size in sizes if size >= stock), default=stock) - stock
