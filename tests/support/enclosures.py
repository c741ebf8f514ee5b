"""What is looked up for an email of the shop."""

from functools import reduce

from orders.engine.contracts import Request
from orders.shop.enclosing import LOOK_UPS
from orders.shop.letters import NOTHING, Enclosures


def look_up(request: Request) -> Enclosures:
    """All that an email encloses if nothing fails."""
    return reduce(lambda enclosures, look: look(request, enclosures), LOOK_UPS, NOTHING)
