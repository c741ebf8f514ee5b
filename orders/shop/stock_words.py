"""What customers read of what is left."""

from django.utils.translation import gettext, ngettext

from orders.shop.availability import Availability
from orders.shop.offers import Offer


def words_of(offer: Offer) -> str:
    """What is said of an offer: "Sold out", "Only 3 left", "Edition of 100, 37 left"; "" if nothing is."""
    if offer.is_sold_out:
        return gettext("Sold out")
    size, stock = offer.edition_size, offer.stock
    if size and (stock is None or stock > size):  # the warehouse has not been told of a smaller edition yet
        return gettext("Edition of {size}").format(size=size)
    if size and stock is not None:
        words = ngettext("Edition of {size}, {left} left", "Edition of {size}, {left} left", stock)
        return words.format(size=size, left=stock)
    return only_left(stock) if stock and offer.availability is Availability.FEW_LEFT else ""


def only_left(number: int) -> str:
    """What is said of a product of which few are left."""
    return ngettext("Only {left} left", "Only {left} left", number).format(left=number)


def all_in_cart(number: int) -> str:
    """What is said where more of a product are wanted than are left, which are all in the cart now."""
    words = ngettext(
        "There is only {left} left, and it’s in your cart.",
        "There are only {left} left, and they’re all in your cart.",
        number,
    )
    return words.format(left=number)
