"""The request queue, agents' side: a claim is exclusive, by priority, and few suspects come at once."""

from datetime import timedelta
from threading import Barrier

import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from orders.engine.channels import leases, suspects, unheld
from orders.engine.channels.leases import SUSPECT_LAPSES, Lease
from orders.engine.channels.suspects import SUSPICION
from orders.engine.runtime.sql import database_now, run
from orders.models import AgentRequest
from tests.support.factories import ago, ahead
from tests.support.requests import ME, claim, complete, ids, make_one, many
from tests.support.two_sessions import BAD_PLANS, PATIENCE, NewSession, all_at_once, held, switch_off

# --- claiming


@pytest.mark.django_db
@pytest.mark.pattern("C5", "A9")
def test_a_lease_carries_everything_the_agent_needs() -> None:
    body = {"data": {"portions": 3, "name": "há"}, "results": {"mix": None}}
    request = make_one(
        attempt=4,
        compensates=True,
        key="k/undo",
        reverses="k",
        body=body,
        complete_by=ahead(30),
        operation="x",
    )
    before = database_now()
    (lease,) = claim()
    after = database_now()
    assert before <= request.complete_by - timedelta(seconds=lease.seconds_left) <= after
    assert lease._replace(seconds_left=0.0) == Lease(
        id=request.pk,
        deliveries=1,
        order_id=request.order_id,
        step="mix",
        agent="kitchen",
        operation="x",
        attempt=4,
        compensates=True,
        key="k/undo",
        reverses="k",
        body=body,
        seconds_left=0.0,
    )
    request.refresh_from_db()
    assert (request.leased_by, request.deliveries) == (ME, 1)
    assert request.leased_until is not None
    assert before <= request.leased_until - timedelta(seconds=8) <= after


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_each_agent_gets_as_much_as_it_has_capacity_for_by_priority_and_then_age() -> None:
    kitchen = [make_one(priority=priority).pk for priority in (5, 0, 5, 9, 5)]
    oven = [make_one(agent="oven").pk for _ in range(3)]
    make_one(agent="courier")
    room = {"kitchen": 3, "oven": 1, "post": 7, "courier": 0}
    assert ids(claim(**room)) == sorted([kitchen[3], kitchen[0], kitchen[2], oven[0]])
    assert ids(claim(**room)) == sorted([kitchen[4], kitchen[1], oven[1]])
    assert ids(claim(kitchen=1, oven=9, courier=-1)) == [oven[2]]


@pytest.mark.django_db
def test_no_capacity_takes_no_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    make_one()
    with django_assert_num_queries(0):
        assert leases.claim(room={}, me=ME, seconds=8.0) == []
        assert leases.claim(room={"kitchen": 0, "oven": -3}, me=ME, seconds=8.0) == []
        assert leases.complete([], me=ME) == 0
        assert leases.renew([], me=ME, seconds=8.0) == set()


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_leased_late_and_suspect_requests_are_not_claimed() -> None:
    make_one(leased_by="agents:2", leased_until=ahead(5), deliveries=1)
    make_one(leased_by="agents:2", leased_until=ago(5), deliveries=1)
    make_one(complete_by=ago(1))
    # past, but after the start of this transaction: the database's clock decides, not now() (trap 6)
    make_one(complete_by=database_now())
    make_one(lapses=SUSPECT_LAPSES)
    free = make_one(deliveries=9, lapses=SUSPECT_LAPSES - 1)
    assert ids(claim()) == [free.pk]


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_no_plan_makes_a_claim_take_more_than_its_capacity(switched_off: tuple[str, ...]) -> None:
    """Trap 1."""
    many(300)
    many(300, agent="oven")
    switch_off(switched_off)
    for room in (1, 7, 20):
        claimed = claim(kitchen=room, oven=2)
        assert [lease.agent for lease in claimed].count("kitchen") == room
        assert [lease.agent for lease in claimed].count("oven") == 2
    assert AgentRequest.objects.filter(leased_by=ME).count() == 1 + 7 + 20 + 3 * 2


@pytest.mark.django_db
def test_a_badly_written_claim_takes_too_many_under_these_plans() -> None:
    """Proves that the test above, and others like it, can fail."""
    many(300)
    switch_off(BAD_PLANS["row by row"])
    taken = run(
        """
        UPDATE orders_agentrequest SET leased_by = 'me'
         WHERE id IN (SELECT id FROM orders_agentrequest WHERE leased_until IS NULL
                       ORDER BY priority DESC, id LIMIT 7 FOR UPDATE SKIP LOCKED)
        """
    )
    assert taken > 7


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("A1", "A9")
def test_eight_hosts_lease_every_request_exactly_once(switched_off: tuple[str, ...]) -> None:
    """In the first round all eight hold what they claimed at the same moment, so none can have waited."""
    many(300)
    all_hold = Barrier(8)

    def claim_until_none_is_left(number: int) -> list[int]:
        claimed: list[int] = []
        while True:
            with transaction.atomic():
                switch_off(switched_off)
                new = leases.claim(room={"kitchen": 9}, me=f"agents:{number}", seconds=8.0)
                assert len(new) <= 9
                if not claimed:
                    all_hold.wait(timeout=4)
            claimed += ids(new)
            if not new:
                return claimed

    by_host = all_at_once(8, claim_until_none_is_left)
    assert sum(map(len, by_host)) == 300
    assert set().union(*by_host) == set(AgentRequest.objects.values_list("pk", flat=True))
    for number, claimed in enumerate(by_host):
        leased = AgentRequest.objects.filter(leased_by=f"agents:{number}", deliveries=1)
        assert set(leased.values_list("pk", flat=True)) == set(claimed)


def test_a_host_passes_over_requests_that_another_is_claiming_without_waiting(
    new_session: NewSession,
) -> None:
    first, second = make_one(), make_one()
    session, other = new_session(), new_session()
    session.begin()
    assert ids(session.do(lambda: claim(1))) == [first.pk]
    assert ids(other.do(lambda: claim(5, me="agents:2"))) == [second.pk]
    session.rollback()
    assert ids(other.do(lambda: claim(5, me="agents:2"))) == [first.pk]


def test_a_request_that_was_leased_between_choice_and_lock_is_not_leased_again(
    new_session: NewSession,
) -> None:
    leased, free = make_one(), make_one()
    with held(new_session(), claim, at="free.id") as claimed:
        AgentRequest.objects.filter(pk=leased.pk).update(
            leased_by="agents:2", leased_until=ahead(8), deliveries=1
        )
    assert ids(claimed.result(timeout=PATIENCE)) == [free.pk]
    assert AgentRequest.objects.get(pk=leased.pk).leased_by == "agents:2"


# --- suspects


def claim_suspects(*, free: int = SUSPICION, me: str = ME, **room: int) -> list[Lease]:
    with transaction.atomic():
        return suspects.claim(room=room or {"kitchen": 100}, free=free, me=me, seconds=8.0)


@pytest.mark.django_db
@pytest.mark.pattern("A7")
def test_a_request_whose_lease_has_lapsed_twice_is_a_suspect() -> None:
    """F28: it may be what kills its hosts."""
    poison = make_one()
    for me in ("agents:1", "agents:2"):
        assert not suspects.has_suspects(["kitchen"])
        assert ids(claim(me=me)) == [poison.pk]
        AgentRequest.objects.update(leased_until=ago(1))
        assert unheld.free_lapsed() == 1
    ordinary = make_one()
    assert suspects.has_suspects(["oven", "kitchen"])
    assert not suspects.has_suspects(["oven"])
    assert not suspects.has_suspects([])
    assert ids(claim()) == [ordinary.pk]
    assert claim_suspects(oven=9) == []
    (lease,) = claim_suspects(oven=9, kitchen=9)
    assert (lease.id, lease.deliveries, lease.lapses) == (poison.pk, 3, 2)
    assert not suspects.has_suspects(["kitchen"])
    assert complete(lease) == 1


@pytest.mark.django_db
@pytest.mark.pattern("A7")
def test_a_request_that_is_given_back_is_no_suspect() -> None:
    """Its host was stopped in good order: a restart says nothing about the request."""
    request = make_one()
    for n in range(5):
        (lease,) = claim(me=f"agents:{n}")
        assert leases.release([leases.GivenBack(lease.id, lease.deliveries)], me=f"agents:{n}") == 1
    assert not suspects.has_suspects(["kitchen"])
    (lease,) = claim()
    assert (lease.id, lease.deliveries, lease.lapses) == (request.pk, 6, 0)


@pytest.mark.django_db
@pytest.mark.parametrize(("lapses", "number"), [(2, 20), (3, 5), (4, 1), (5, 1), (30_000, 1)])
def test_the_more_leases_have_lapsed_the_fewer_suspects_run_at_once(lapses: int, number: int) -> None:
    many(50, lapses=lapses)
    claimed = claim_suspects()
    assert len(claimed) == number
    free = SUSPICION - sum(suspects.weight(lease.lapses) for lease in claimed)
    assert 0 <= free < suspects.weight(lapses)
    assert claim_suspects(free=free) == []


@pytest.mark.django_db
def test_the_least_suspect_come_first_within_the_room_of_their_agents() -> None:
    worse, other = make_one(lapses=3, priority=9), make_one(lapses=2)
    first, second = make_one(lapses=2, agent="oven"), make_one(lapses=2, agent="oven")
    assert set(ids(claim_suspects(free=7, kitchen=9, oven=1))) == {worse.pk, other.pk, first.pk}
    assert claim_suspects(free=0, oven=9) == []
    assert ids(claim_suspects(oven=9)) == [second.pk]


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_the_suspects_of_an_agent_without_room_do_not_hold_up_those_of_another() -> None:
    many(SUSPICION, lapses=2)
    other = make_one(agent="oven", lapses=2)
    assert ids(claim_suspects(kitchen=0, oven=9)) == [other.pk]
    assert {lease.agent for lease in claim_suspects(kitchen=9)} == {"kitchen"}


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_a_suspect_past_its_complete_by_is_not_run() -> None:
    make_one(lapses=2, complete_by=database_now())
    assert claim_suspects() == []


def test_two_hosts_never_run_the_same_suspect(new_session: NewSession) -> None:
    first, second = make_one(lapses=4), make_one(lapses=4)
    session, other = new_session(), new_session()
    session.begin()
    other.begin()
    assert session.do(lambda: ids(claim_suspects())) == [first.pk]
    assert other.do(lambda: ids(claim_suspects())) == []  # the next exchange finds the second
    session.commit()
    assert other.do(lambda: ids(claim_suspects())) == [second.pk]


@pytest.mark.django_db
def test_no_plan_leases_more_suspects_than_allowed(switched_off: tuple[str, ...]) -> None:
    many(100, lapses=3)
    switch_off(switched_off)
    assert len(claim_suspects(kitchen=100, oven=100)) == 5
    assert AgentRequest.objects.filter(leased_by=ME).count() == 5


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_requests_for_operations_that_an_agent_does_not_have_are_left_to_another_host() -> None:
    """A newer release may ask for them. An agent that does not name its operations gets any."""
    mix, fold = (make_one(operation=operation) for operation in ("mix-it", "fold-it"))
    bake = make_one(agent="oven", operation="bake-it")
    risky_mix, _ = (
        make_one(operation=operation, lapses=SUSPECT_LAPSES) for operation in ("mix-it", "fold-it")
    )
    room, operations = {"kitchen": 9, "oven": 9}, {"kitchen": {"mix-it", "stir-it"}, "post": {"fold-it"}}
    with transaction.atomic():
        claimed = leases.claim(room=room, me=ME, seconds=8.0, operations=operations)
        risky = suspects.claim(room=room, free=SUSPICION, me=ME, seconds=8.0, operations=operations)
    assert (ids(claimed), ids(risky)) == ([mix.pk, bake.pk], [risky_mix.pk])
    assert ids(claim()) == [fold.pk]
