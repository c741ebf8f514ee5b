"""Leases lapse, change hands and are given back, and requests that are too late are deleted."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction

from orders.engine.channels import leases, requests, unheld
from orders.engine.channels.leases import Answer
from orders.engine.runtime.sql import database_now, run
from orders.models import AgentReply, AgentRequest
from tests.support.factories import ago, ahead, make_order, make_request, step_of
from tests.support.requests import ME, claim, complete, make_one, many, stored
from tests.support.two_sessions import PATIENCE, NewSession, held, switch_off
from tests.support.wait import until

# --- leases that lapse


@pytest.mark.django_db
@pytest.mark.pattern("A5", "A7", "T6")
@pytest.mark.parametrize("next_holder", ["agents:2", ME], ids=["another", "itself"])
def test_the_former_holder_of_a_lapsed_lease_changes_nothing(next_holder: str) -> None:
    """I4, P3: the delivery number is the fence, even when an instance gets its own request again."""
    request = make_one()
    (former,) = claim()
    AgentRequest.objects.filter(pk=request.pk).update(leased_until=ago(1))
    assert unheld.free_lapsed() == 1
    (lease,) = claim(me=next_holder)
    assert (lease.id, lease.deliveries) == (request.pk, 2)
    before = stored(request)
    assert complete(former) == 0
    assert leases.renew([(former.id, former.deliveries)], me=ME, seconds=100.0) == set()
    assert leases.release([leases.GivenBack(former.id, former.deliveries)], me=ME) == 0
    assert stored(request) == before
    assert AgentReply.objects.count() == 0
    assert complete(lease, me=next_holder) == 1


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_a_freed_lease_cannot_be_completed_by_its_former_holder() -> None:
    request = make_one()
    (former,) = claim()
    AgentRequest.objects.filter(pk=request.pk).update(leased_until=ago(1))
    unheld.free_lapsed()
    before = stored(request)
    assert complete(former) == 0
    assert leases.renew([(former.id, former.deliveries)], me=ME, seconds=100.0) == set()
    assert leases.release([leases.GivenBack(former.id, former.deliveries)], me=ME) == 0
    assert stored(request) == before


@pytest.mark.django_db
def test_only_leases_that_have_lapsed_are_freed() -> None:
    lapsed = make_one(leased_by=ME, leased_until=ago(1), deliveries=1)
    # past by the database's clock, not by now() (trap 6)
    just_lapsed = make_one(leased_by=ME, leased_until=database_now(), deliveries=1)
    others = [make_one(leased_by=ME, leased_until=ahead(1), deliveries=1), make_one()]
    before = [stored(request) for request in others]
    assert unheld.free_lapsed() == 2
    assert unheld.free_lapsed() == 0
    for request in (lapsed, just_lapsed):
        request.refresh_from_db()
        assert (request.leased_by, request.leased_until) == (None, None)
        assert (request.deliveries, request.lapses) == (1, 1)
    assert [stored(request) for request in others] == before


def test_a_lease_that_is_being_answered_is_not_freed(new_session: NewSession) -> None:
    request = make_one(leased_by=ME, leased_until=ago(1), deliveries=1)
    holder, other = new_session(), new_session()
    holder.begin()
    answer = Answer(request.pk, 1, "done", "{}", 1)
    assert holder.do(lambda: leases.complete([answer], me=ME)) == 1
    assert other.do(unheld.free_lapsed) == 0
    holder.commit()
    assert AgentReply.objects.count() == 1


def test_a_lease_that_was_renewed_between_choice_and_lock_is_not_freed(new_session: NewSession) -> None:
    request = make_one(leased_by=ME, leased_until=ago(1), deliveries=1)
    with held(new_session(), unheld.free_lapsed, at="leased_until <") as freed:
        assert leases.renew([(request.pk, 1)], me=ME, seconds=8.0) == {(request.pk, 1)}
    assert freed.result(timeout=PATIENCE) == 0
    assert AgentRequest.objects.get().leased_by == ME


@pytest.mark.django_db
def test_a_renewal_confirms_only_leases_that_are_still_held() -> None:
    own, foreign, redelivered = make_one(), make_one(), make_one()
    held_by_me = [(lease.id, lease.deliveries) for lease in claim()]
    AgentRequest.objects.filter(pk=foreign.pk).update(leased_by="agents:2")
    AgentRequest.objects.filter(pk=redelivered.pk).update(deliveries=2)
    unchanged = [stored(foreign), stored(redelivered)]
    before = database_now()
    assert leases.renew([*held_by_me, (0, 1)], me=ME, seconds=60.0) == {(own.pk, 1)}
    after = database_now()
    own.refresh_from_db()
    assert own.leased_until is not None
    assert before < own.leased_until - timedelta(seconds=60) < after
    assert [stored(foreign), stored(redelivered)] == unchanged


@pytest.mark.django_db
def test_a_returned_request_can_be_claimed_at_once_and_its_delivery_still_counts() -> None:
    request, second_request = make_one(), make_one()
    first, second = claim()
    assert leases.release([leases.GivenBack(first.id, first.deliveries)], me=ME) == 1
    (again,) = claim(me="agents:2")
    assert (again.id, again.deliveries) == (request.pk, 2)
    assert second.id == second_request.pk
    assert requests.recall([request.step_id]) == set()


TOUCHES: dict[str, Callable[[AgentRequest], object]] = {
    "complete": lambda request: leases.complete([Answer(request.pk, 1, "done", "{}", 1)], me=ME),
    "renew": lambda request: leases.renew([(request.pk, 1)], me=ME, seconds=8.0),
    "release": lambda request: leases.release([leases.GivenBack(request.pk, 1)], me=ME),
    "discard": lambda request: requests.discard([request.step_id]),
}


def held_one() -> AgentRequest:
    return make_one(leased_by=ME, leased_until=ahead(8), deliveries=1)


@pytest.mark.pattern("A2", "A4")
@pytest.mark.parametrize("touch", TOUCHES)
def test_a_request_whose_lease_is_being_renewed_can_still_be_answered_or_given_back(
    new_session: NewSession, touch: str
) -> None:
    """A host renews in one thread while it answers in another: the row changes, the lease stays the same."""
    request, untouched = held_one(), held_one()
    care, other = new_session(), new_session()
    care.begin()
    assert care.do(lambda: leases.renew([(request.pk, 1)], me=ME, seconds=60.0)) == {(request.pk, 1)}
    touched = other.start(lambda: TOUCHES[touch](request))
    other.await_wait()
    care.commit()
    results = {"complete": 1, "renew": {(request.pk, 1)}, "release": 1, "discard": None}
    assert touched.result(timeout=PATIENCE) == results[touch]
    still_held = set(AgentRequest.objects.filter(leased_by=ME).values_list("pk", flat=True))
    assert still_held == ({request.pk, untouched.pk} if touch == "renew" else {untouched.pk})
    assert AgentReply.objects.count() == (touch == "complete")
    assert AgentRequest.objects.filter(pk=request.pk).exists() == (touch in ("renew", "release"))


@pytest.mark.pattern("A5", "A7")
@pytest.mark.parametrize("touch", ["complete", "renew", "release"])
@pytest.mark.parametrize("next_holder", ["agents:2", ME], ids=["another", "itself"])
def test_a_request_that_changes_hands_while_its_former_holder_waits_for_it_stays_with_the_next(
    new_session: NewSession, touch: str, next_holder: str
) -> None:
    """P3, forced: the former holder read the row while it still held the lease."""
    request = held_one()
    thief, former = new_session(), new_session()
    thief.begin()
    taken = {"leased_by": next_holder, "leased_until": ahead(60), "deliveries": 2}
    thief.do(lambda: AgentRequest.objects.filter(pk=request.pk).update(**taken))
    touched = former.start(lambda: TOUCHES[touch](request))
    former.await_wait()
    thief.commit()
    assert touched.result(timeout=PATIENCE) == {"complete": 0, "renew": set(), "release": 0}[touch]
    lease = AgentRequest.objects.values("leased_by", "leased_until", "deliveries").get()
    assert lease == taken
    assert AgentReply.objects.count() == 0


@pytest.mark.pattern("A2")
@pytest.mark.parametrize("busy", [1, 2], ids=["the second is busy", "the third is busy"])
@pytest.mark.parametrize("meanwhile", ["renewal", "discard"])
def test_answering_never_deadlocks_with_other_changes_to_the_same_requests(
    new_session: NewSession, meanwhile: str, busy: int, switched_off: tuple[str, ...]
) -> None:
    """A host answers in one thread and renews in another; a scheduler discards requests that it will send again.

    The answers wait while they hold locks on some of their requests. The other act wants those, and some that the
    answers still need.
    """
    steps = [step_of(make_order({"mix": "running"}), "mix") for _ in range(3)]
    leased = {"leased_by": ME, "leased_until": ahead(8), "deliveries": 1}
    # The later the request, the earlier its step: an index on either gives a different order.
    created = [make_request(step, **leased) for step in reversed(steps)]
    answers = [Answer(created[n].pk, 1, "done", "{}", 1) for n in (1, 2, 0)]
    free_requests = [created[n] for n in (0, 1, 2) if n != busy]
    acts: dict[str, Callable[[], object]] = {
        "renewal": lambda: leases.renew([(request.pk, 1) for request in free_requests], me=ME, seconds=8.0),
        "discard": lambda: requests.discard([request.step_id for request in free_requests]),
    }

    def planned(act: Callable[[], object]) -> Callable[[], object]:
        def in_transaction() -> object:
            with transaction.atomic():
                switch_off(switched_off)
                return act()

        return in_transaction

    exchange, other, blocker = new_session(), new_session(), new_session()
    blocker.begin()
    blocker.do(lambda: run("SELECT 1 FROM orders_agentrequest WHERE id = %s FOR UPDATE", [created[busy].pk]))
    answered = exchange.start(planned(lambda: leases.complete(answers, me=ME)))
    exchange.await_wait()
    touched = other.start(planned(acts[meanwhile]))
    until(lambda: touched.done() or other.is_waiting(), what="the other session's turn")
    blocker.commit()
    failures = [future.exception(timeout=PATIENCE) for future in (answered, touched)]
    assert failures == [None, None]


# --- requests that nobody may answer any more


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_only_free_requests_past_their_complete_by_are_deleted() -> None:
    make_one(complete_by=ago(2))
    remaining = [
        make_one(complete_by=ago(60), leased_by=ME, leased_until=ahead(5), deliveries=1),
        make_one(complete_by=database_now()),
        make_one(),
    ]
    assert unheld.delete_expired() == 1
    assert set(AgentRequest.objects.values_list("pk", flat=True)) == {request.pk for request in remaining}


def test_neither_freeing_nor_deleting_waits_for_anybody(new_session: NewSession) -> None:
    lapsed = make_one(leased_by=ME, leased_until=ago(1), deliveries=1)
    expired = make_one(complete_by=ago(60))
    session, other = new_session(), new_session()
    session.begin()
    session.do(lambda: run("SELECT 1 FROM orders_agentrequest FOR UPDATE"))
    assert other.do(unheld.free_lapsed) == 0
    assert other.do(unheld.delete_expired) == 0
    session.commit()
    assert other.do(unheld.free_lapsed) == 1
    assert other.do(unheld.delete_expired) == 1
    assert list(AgentRequest.objects.values_list("pk", flat=True)) == [lapsed.pk]
    assert expired.pk != lapsed.pk


@pytest.mark.django_db
def test_no_plan_makes_freeing_and_deleting_exceed_their_limit(switched_off: tuple[str, ...]) -> None:
    """F30: ten thousand leases that lapse in one second are freed in bounded transactions."""
    many(600, leased_by="agents:9", leased_until=ago(1), deliveries=1)
    switch_off(switched_off)
    assert unheld.free_lapsed() == 500
    assert unheld.free_lapsed() == 100
    AgentRequest.objects.update(complete_by=ago(60))
    assert unheld.delete_expired() == 500
    assert unheld.delete_expired() == 100
