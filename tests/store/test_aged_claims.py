"""Claims by age: whom they leave out, and what happens when two look at the same moment."""

from uuid import UUID

import pytest

from orders.engine import state_store
from orders.engine.channels import oldest_requests
from orders.engine.channels.leases import SUSPECT_LAPSES
from orders.engine.runtime.sql import database_now
from orders.models import AgentRequest, OrderProcess
from tests.support.factories import ago, ahead, make_order
from tests.support.requests import ME, make_one
from tests.support.two_sessions import PATIENCE, NewSession, held
from tests.support.workflows import CAKE, CAKES

pytestmark = pytest.mark.pattern("A9")


def claim(limit: int = 10, *, without: tuple[UUID, ...] = ()) -> list[UUID]:
    rows = state_store.claim_aged(limit, CAKES, database_now(), without=without)
    return [row.order_id for row in rows]


def claim_waiting(room: int = 10) -> list[UUID]:
    now = database_now()
    rows = state_store.claim_aged_waiting({"kitchen": room}, CAKES, [], now, limit=10, retries=1)
    return [row.order_id for row in rows]


def aged(priority: int = 0, seconds: float = 61, **fields: object) -> OrderProcess:
    return make_order(priority=priority, created_at=ago(seconds), **fields)


def aged_waiting(priority: int = 0, seconds: float = 61, **fields: object) -> OrderProcess:
    """An order whose step has waited so long for the kitchen. `fields` are the order's."""
    since = {"waiting_since": ago(seconds), "wanted_since": ago(seconds), "priority": priority}
    return make_order({"mix": since}, priority=priority, **fields)


@pytest.mark.django_db
def test_only_ready_orders_of_a_workflow_that_we_have_are_claimed_for_their_age() -> None:
    aged(seconds=59)
    aged(not_before=ahead(60))
    aged(not_before=ago(1))
    aged(process_state="processing")
    aged(process_state="error")
    aged(version=CAKE.version + 1)
    left_out, order = aged(), aged()
    assert claim(without=(left_out.order_id,)) == [order.order_id]
    assert claim(0) == []


@pytest.mark.django_db
def test_only_the_steps_that_have_waited_for_a_minute_are_claimed_within_the_room() -> None:
    aged_waiting(seconds=59)
    aged_waiting(version=CAKE.version + 1)
    aged_waiting(process_state="error")
    orders = [aged_waiting(priority=priority, seconds=100 - priority).order_id for priority in range(5)]
    assert claim_waiting() == sorted(orders)
    assert claim_waiting(2) == sorted(orders[:2])
    assert claim_waiting(0) == []
    assert state_store.claim_aged_waiting({}, CAKES, [], database_now(), limit=9, retries=9) == []


def test_an_order_that_another_scheduler_holds_or_has_taken_is_not_claimed_for_its_age(
    new_session: NewSession,
) -> None:
    taken, free, locked = aged().order_id, aged().order_id, aged().order_id
    other, scheduler = new_session(), new_session()
    other.begin()
    other.do(lambda: state_store.lock({locked}, CAKES))
    scheduler.begin()
    with held(scheduler, claim, at="FOR NO KEY UPDATE") as claimed:
        OrderProcess.objects.filter(pk=taken).update(
            process_state="processing", locked_by="scheduler:other", complete_by=ahead(600)
        )
    assert claimed.result(timeout=PATIENCE) == [free]


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_leased_late_suspect_and_foreign_requests_are_not_claimed_for_their_age() -> None:
    make_one(leased_by="agents:2", leased_until=ahead(5), deliveries=1)
    make_one(complete_by=ago(1))
    make_one(lapses=SUSPECT_LAPSES)
    make_one(operation="another")
    low = [make_one(priority=priority).pk for priority in (3, 0)]
    high = make_one(priority=9).pk

    def claim_oldest(room: int) -> list[int]:
        new_leases = oldest_requests.claim(
            room={"kitchen": room}, me=ME, seconds=8.0, operations={"kitchen": ["mix-it"]}
        )
        return [lease.id for lease in new_leases]

    assert claim_oldest(2) == low
    assert claim_oldest(2) == [high]
    assert oldest_requests.claim(room={}, me=ME, seconds=8.0) == []


def test_a_request_that_another_host_has_taken_in_between_is_leased_once(new_session: NewSession) -> None:
    taken, free = make_one().pk, make_one().pk
    host = new_session()
    host.begin()

    def claim_oldest() -> list[int]:
        new_leases = oldest_requests.claim(room={"kitchen": 2}, me=ME, seconds=8.0)
        return [lease.id for lease in new_leases]

    with held(host, claim_oldest, at="FOR UPDATE SKIP LOCKED") as claimed:
        AgentRequest.objects.filter(pk=taken).update(
            leased_by="agents:2", leased_until=ahead(5), deliveries=1
        )
    assert claimed.result(timeout=PATIENCE) == [free]
