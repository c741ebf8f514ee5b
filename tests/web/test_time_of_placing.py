"""The web server that takes an order has its own clock. Whatever that says, the page shows times in their order."""

from datetime import timedelta

import pytest
from babel import Locale
from django.db.models import F

from orders.models import Order, OrderProcess
from orders.selectors.tracked_orders import order_of_guest
from orders.wording.customers.progress import progress
from tests.web.shopping import done, shop_order

pytestmark = pytest.mark.django_db


def an_order_of_a_fast_clock(*completed: str, goal: str = "complete") -> OrderProcess:
    """An order placed by a clock that is a minute ahead of the database's."""
    order = shop_order(done(*completed), age=0, goal=goal, process_state="processing")
    Order.objects.update(
        placed_at=F("placed_at") + timedelta(minutes=1), promised_by=F("promised_by") + timedelta(minutes=1)
    )
    return order


@pytest.mark.parametrize("goal", ["complete", "compensate"])
@pytest.mark.parametrize("completed", [(), ("reserve-stock",), ("reserve-stock", "authorise-payment")])
def test_no_order_was_placed_in_the_future_or_after_what_was_done_for_it(
    completed: tuple[str, ...], goal: str
) -> None:
    order = an_order_of_a_fast_clock(*completed, goal=goal)
    tracked = order_of_guest(order_id=order.order_id)
    assert tracked is not None and tracked.order.placed_at > tracked.seen_at
    page = progress(tracked, now=tracked.seen_at, locale=Locale("en"), usual=None)
    times = [stage.at for stage in page.stages if stage.at]
    assert times == sorted(times)
    assert page.placed_at == times[0]
    assert max(times) <= tracked.seen_at
