"""What customers read of what is left."""

from django.utils.translation import gettext, ngettext

from orders.shop.availability import Availability
from orders.shop.offers import Offer


def words_of(offer: Offer) -> str:
    """What is said of an offer: "Sold out", "Only 3 left", "Edition of 100, 37 left"; "" if nothing is."""
    if offer.is_sold_out:
        return gettext("Sold out")
    size, left = offer.edition_size, offer.left
    if size and left is None:
        return gettext("Edition of {size}").format(size=size)
    if size and left is not None:
        words = ngettext("Edition of {size}, {left} left", "Edition of {size}, {left} left", left)
        return words.format(size=size, left=left)
    return only_left(left) if left and offer.availability is Availability.FEW_LEFT else ""


def only_left(left: int) -> str:
    """What is said of a product of which few are left."""
    return ngettext("Only {left} left", "Only {left} left", left).format(left=left)
