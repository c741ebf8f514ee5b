"""A reader of the feed, while processes that write it are killed and others take over: every change once, in order."""

from threading import Event as Signal
from threading import Thread
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection

from orders.models import Event
from orders.selectors import changes
from orders.selectors.changes import FeedPoint, epoch
from orders.selectors.orders import client_of
from orders.shop.placing import place_order
from tests.support.factories import new_order
from tests.support.system import System
from tests.support.wait import until

ORDERS = 24


class Follower(Thread):
    """Reads a customer's feed without a pause, a few changes at a time, until it is told to stop."""

    def __init__(self, customer_id: int) -> None:
        super().__init__()
        self.customer_id, self.stopped = customer_id, Signal()
        self.read: list[tuple[UUID, int]] = []
        self.point = FeedPoint(0, 0)

    def run(self) -> None:
        while not self.stopped.is_set():
            self.look()
        connection.close()

    def look(self) -> None:
        """Reads one page."""
        page = changes.changes(customer_id=self.customer_id, after=self.point, limit=7, mark=changes.look())
        self.read += [(change.order_id, change.event.id) for change in page.changes]
        self.point = page.until


def test_a_reader_misses_nothing_while_roles_are_killed(system: System) -> None:
    epoch()
    customer = User.objects.create_user("ada")
    roles = system.start_all("submission", "scheduler", "agents", "jobs")
    second = system.start("scheduler")
    system.faults("carrier", latency_ms=[50, 150], error_rate=0.2)
    follower = Follower(customer.pk)
    follower.start()
    placed = [
        place_order(client=client_of(customer.pk), order=new_order(system.sku)).order_id
        for _ in range(ORDERS)
    ]
    system.acknowledged += placed
    for number, doomed in enumerate([roles["scheduler"], roles["agents"], second], start=1):
        until(lambda number=number: len(follower.read) > 40 * number, what="changes")
        doomed.kill()
        system.start("agents" if doomed is roles["agents"] else "scheduler")
    assert system.wait_until_ended(placed) == ["processed"] * ORDERS
    follower.stopped.set()
    follower.join(timeout=60)
    until(lambda: follower.look() or len(follower.read) == Event.objects.count(), what="the last changes")
    events = list(Event.objects.order_by("id").values_list("order_id", "id"))
    assert sorted(follower.read) == sorted(events)
    for order_id in placed:
        ids = [event_id for owner, event_id in follower.read if owner == order_id]
        assert ids == [event_id for owner, event_id in events if owner == order_id]
    system.check()
