"""However many schedulers there are, no more requests are outstanding than the agents' credit (A9, rule 9)."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orders import wiring
from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.loop import Counts, Worker
from orders.engine.scheduler.role import Scheduler
from orders.models import AgentRequest, RoleInstance
from tests.support.availability import set_capacity
from tests.support.factories import ago, ahead, make_order
from tests.support.roles import a_scheduler, clones, in_thread
from tests.support.two_sessions import all_at_once
from tests.support.wait import until
from tests.support.workflows import PACKED

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("A9")]

CAPACITY = 50


def orders_for_the_kitchen(number: int) -> None:
    clones(make_order(PACKED | {"decorate": {}}), number - 1)


def outstanding(**fields: str) -> int:
    return AgentRequest.objects.filter(agent="kitchen", **fields).count()


@pytest.mark.pattern("C3")
def test_eight_schedulers_at_once_stay_within_the_credit_of_one() -> None:
    """None sees what the others are about to send, so each keeps to its share."""
    schedulers = [a_scheduler(f"scheduler:{n}") for n in range(8)]
    set_capacity("kitchen", CAPACITY)
    orders_for_the_kitchen(800)
    for scheduler in schedulers:
        scheduler.health.beat()
    RoleInstance.objects.update(seen_at=ahead(3600))  # however slow this machine is
    for _ in range(3):
        all_at_once(8, lambda n: schedulers[n].run_once())
        assert outstanding() <= 2 * CAPACITY
    for scheduler in schedulers:  # those that were not quick enough to find an order
        scheduler.run_once()
    assert {outstanding(posted_by=f"scheduler:{n}") for n in range(8)} == {2 * CAPACITY // 8}


def test_a_scheduler_that_has_died_leaves_its_share_to_the_others() -> None:
    alive, dead = a_scheduler("scheduler:alive"), a_scheduler("scheduler:dead")
    set_capacity("kitchen", CAPACITY)
    orders_for_the_kitchen(300)
    alive.health.beat()
    dead.health.beat()
    dead.run_once()
    alive.run_once()
    assert (outstanding(posted_by="scheduler:alive"), outstanding()) == (CAPACITY, 2 * CAPACITY)
    RoleInstance.objects.filter(pk="scheduler:dead").update(seen_at=ago(60))
    AgentRequest.objects.filter(posted_by="scheduler:dead").delete()
    alive.run_once()
    assert outstanding(posted_by="scheduler:alive") == 2 * CAPACITY


def test_every_scheduler_may_send_one_request_however_small_the_credit() -> None:
    """Otherwise orders would starve that only one of many schedulers can move on."""
    schedulers = [a_scheduler(f"scheduler:{n}") for n in range(8)]
    set_capacity("kitchen", 1)
    orders_for_the_kitchen(20)
    for scheduler in schedulers:
        scheduler.health.beat()
    schedulers[0].run_once()
    assert outstanding() == 1
    schedulers[1].run_once()
    schedulers[2].run_once()
    assert outstanding() == 2


@contextmanager
def at_work(scheduler: Scheduler) -> Iterator[None]:
    """Runs a scheduler that hears wake-ups and never polls, and lets it find that there is nothing to do."""
    passes: list[Counts] = []

    def run_once() -> Counts:
        passes.append(scheduler.run_once())
        return passes[-1]

    worker = Worker(name="scheduler", run_once=run_once, poll=3600.0, health=scheduler.health)
    ended = in_thread(worker.run)
    until(lambda: passes, what="its first pass")
    listener = wiring.listener({Topic.SCHEDULER: worker.wake.set})
    listener.start()  # which wakes it once
    try:
        until(lambda: len(passes) > 1, what="its second pass")
        yield
    finally:
        listener.stop()
        worker.stop()
        ended.result(timeout=60)


@pytest.mark.pattern("C3", "C5")
def test_what_a_scheduler_cannot_send_within_its_share_is_sent_by_the_others_at_once() -> None:
    """They looked before it had claimed the orders. Until they poll again, the agents would be idle."""
    busy, idle = a_scheduler("scheduler:busy"), a_scheduler("scheduler:idle")
    set_capacity("kitchen", CAPACITY)
    busy.health.beat()
    with at_work(idle):
        orders_for_the_kitchen(2 * CAPACITY)
        busy.run_once()
        assert outstanding(posted_by="scheduler:busy") == CAPACITY
        until(lambda: outstanding() == 2 * CAPACITY, seconds=8, what="the requests of the other")
    assert outstanding(posted_by="scheduler:idle") == CAPACITY
