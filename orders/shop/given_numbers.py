"""The numbers that the warehouse has given the prints of an order."""

from collections.abc import Mapping

from orders.selectors.tracked_orders import TrackedOrder, result_of
from orders.shop.editions import EditionNumbers, is_numbered, numbers_of
from orders.shop.fulfilment import RESERVATION


def given_numbers(tracked: TrackedOrder) -> Mapping[str, EditionNumbers]:
    """The numbers by SKU; none before the warehouse has reserved the prints, nor after their release. No statement for
    an order without numbered prints."""
    return numbers_of(result_of(tracked.order, RESERVATION)) if is_numbered(tracked.data) else {}
