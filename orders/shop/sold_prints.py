"""How many prints of a numbered edition are sold: by the numbers that orders have, and by what is left of it."""

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
    numbers = {
        number
        for answer in answers
        if (edition := numbers_of(answer).get(product.sku))
        for number in edition.numbers
    }
    return SoldPrints(count=max(len(numbers), _gone(product)), highest=max(numbers, default=0))


def _gone(product: Product) -> int:
    """How many of an edition the warehouse no longer has, as it last said."""
    is_known = product.edition_size is not None and product.stock is not None
    return product.edition_size - product.stock if is_known else 0  # type: ignore[operator]  # both are numbers
