"""The request queue, agents' side: a lease is exclusive, it lapses, and only its holder may answer, in time."""

import json
from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from orders.engine.channels import leases, requests
from orders.engine.channels.leases import SUSPECT_DELIVERIES, Answer, Lease
from orders.engine.runtime.sql import database_now, fetch, run
from orders.models import AgentReply, AgentRequest
from orders.vocabulary import ReplyOutcome
from tests.support.factories import ago, ahead, make_order, make_request, step_of
from tests.support.two_sessions import BAD_PLANS, PATIENCE, Session, all_at_once, held, switch_off
from tests.support.wait import until

NewSession = Callable[[], Session]
ME = "agents:1"


def make_one(**fields: Any) -> AgentRequest:
    """A request for the kitchen, of an order of its own."""
    return make_request(step_of(make_order({"mix": "running"}), "mix"), **fields)


def many(number: int, **fields: Any) -> None:
    given = {"agent": "kitchen", "leased_by": None, "leased_until": None, "deliveries": 0} | fields
    (highest,) = fetch("SELECT coalesce(max(step_id), 0) FROM orders_agentrequest")
    AgentRequest.objects.bulk_create(
        AgentRequest(
            order_id=f"00000000-0000-0000-0000-{n:012}",
            step_id=highest[0] + n,
            step="mix",
            operation="mix-it",
            attempt=1,
            key=f"key {n}",
            body={},
            **({"complete_by": ahead(30)} | given),
        )
        for n in range(1, number + 1)
    )


def claim(room: int = 100, *, me: str = ME, **rooms: int) -> list[Lease]:
    with transaction.atomic():
        return leases.claim(room=rooms or {"kitchen": room}, me=me, seconds=8.0)


def ids(claimed: list[Lease]) -> list[int]:
    return [lease.id for lease in claimed]


def complete(lease: Lease, outcome: str = "done", *, me: str = ME, body: str = "{}", calls: int = 1) -> int:
    return leases.complete([Answer(lease.id, lease.deliveries, outcome, body, calls)], me=me)


def stored(request: AgentRequest) -> tuple[object, ...]:
    return AgentRequest.objects.filter(pk=request.pk).values_list().get()


# --- claiming


@pytest.mark.django_db
@pytest.mark.pattern("C5", "A9")
def test_a_lease_gives_the_agent_all_that_it_needs() -> None:
    body = {"data": {"portions": 3, "name": "há"}, "results": {"mix": None}}
    request = make_one(
        attempt=4, undo=True, key="k/undo", reverses="k", body=body, complete_by=ahead(30), operation="x"
    )
    before = database_now()
    (lease,) = claim()
    assert 29.0 < lease.seconds_left < 30.0
    assert lease._replace(seconds_left=0.0) == Lease(
        id=request.pk,
        deliveries=1,
        order_id=request.order_id,
        step="mix",
        agent="kitchen",
        operation="x",
        attempt=4,
        undo=True,
        key="k/undo",
        reverses="k",
        body=body,
        seconds_left=0.0,
    )
    request.refresh_from_db()
    assert (request.leased_by, request.deliveries) == (ME, 1)
    assert request.leased_until is not None
    assert 8.0 < (request.leased_until - before).total_seconds() < 9.0


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_each_agent_is_given_what_it_has_room_for_higher_priority_first_then_older() -> None:
    kitchen = [make_one(priority=priority).pk for priority in (5, 0, 5, 9, 5)]
    oven = [make_one(agent="oven").pk for _ in range(3)]
    make_one(agent="courier")
    room = {"kitchen": 3, "oven": 1, "post": 7, "courier": 0}
    assert ids(claim(**room)) == sorted([kitchen[3], kitchen[0], kitchen[2], oven[0]])
    assert ids(claim(**room)) == sorted([kitchen[4], kitchen[1], oven[1]])
    assert ids(claim(kitchen=1, oven=9, courier=-1)) == [oven[2]]


@pytest.mark.django_db
def test_no_room_is_no_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    make_one()
    with django_assert_num_queries(0):
        assert leases.claim(room={}, me=ME, seconds=8.0) == []
        assert leases.claim(room={"kitchen": 0, "oven": -3}, me=ME, seconds=8.0) == []
        assert leases.complete([], me=ME) == 0
        assert leases.renew([], me=ME, seconds=8.0) == set()


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_what_is_leased_or_too_late_or_suspect_is_not_claimed() -> None:
    make_one(leased_by="agents:2", leased_until=ahead(5), deliveries=1)
    make_one(leased_by="agents:2", leased_until=ago(5), deliveries=1)
    make_one(complete_by=ago(1))
    # past, but after the start of this transaction: the database's clock decides, not now() (trap 6)
    make_one(complete_by=database_now())
    make_one(deliveries=SUSPECT_DELIVERIES)
    free = make_one(deliveries=SUSPECT_DELIVERIES - 1)
    assert ids(claim()) == [free.pk]


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_no_plan_makes_a_claim_take_more_than_its_room(switched_off: tuple[str, ...]) -> None:
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
def test_these_plans_do_make_a_claim_of_the_wrong_form_take_too_many() -> None:
    """So that the test above, and its like, can fail."""
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
        mine = AgentRequest.objects.filter(leased_by=f"agents:{number}", deliveries=1)
        assert set(mine.values_list("pk", flat=True)) == set(claimed)


def test_a_host_passes_over_what_another_is_claiming_without_waiting(new_session: NewSession) -> None:
    first, second = make_one(), make_one()
    one, other = new_session(), new_session()
    one.begin()
    assert ids(one.do(lambda: claim(1))) == [first.pk]
    assert ids(other.do(lambda: claim(5, me="agents:2"))) == [second.pk]
    one.rollback()
    assert ids(other.do(lambda: claim(5, me="agents:2"))) == [first.pk]


def test_a_request_that_was_leased_between_choice_and_lock_is_not_leased_again(
    new_session: NewSession,
) -> None:
    taken, left = make_one(), make_one()
    with held(new_session(), claim, at="free.id") as claimed:
        AgentRequest.objects.filter(pk=taken.pk).update(
            leased_by="agents:2", leased_until=ahead(8), deliveries=1
        )
    assert ids(claimed.result(timeout=PATIENCE)) == [left.pk]
    assert AgentRequest.objects.get(pk=taken.pk).leased_by == "agents:2"


# --- answering


@pytest.mark.django_db
@pytest.mark.pattern("A4", "A6", "T5")
@pytest.mark.parametrize("outcome", ["done", "refused", "declined", "failed"])
def test_an_answer_in_time_replaces_the_request_by_its_reply(outcome: str) -> None:
    request = make_one(attempt=3, undo=True)
    other = make_one()
    first, second = claim()
    body = {"id": "há", "deep": [1, None, {"a": 2.5}]}
    assert complete(first, outcome, body=json.dumps(body), calls=4) == 1
    reply = AgentReply.objects.get()
    assert (reply.order_id, reply.step_id, reply.attempt, reply.undo) == (
        request.order_id,
        request.step_id,
        3,
        True,
    )
    assert (reply.outcome, reply.body, reply.calls, reply.instance) == (outcome, body, 4, ME)
    assert list(AgentRequest.objects.values_list("pk", flat=True)) == [other.pk]
    assert complete(first, outcome) == 0
    assert complete(second) == 1


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_a_reply_says_how_long_its_request_waited_and_how_long_the_agent_had_it() -> None:
    made = [make_one(posted_at=ago(posted)) for posted in (10, 1)]
    claimed = claim()
    assert ids(claimed) == [request.pk for request in made]
    answers = [Answer(lease.id, lease.deliveries, "done", "{}", 1, 2.5) for lease in claimed]
    assert leases.complete(answers, me=ME) == 2
    first, second = AgentReply.objects.order_by("step_id")
    assert (first.seconds, second.seconds) == (2.5, 2.5)
    assert 7.5 <= first.waited < 8.5
    assert second.waited == 0.0


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_an_abandoned_request_is_deleted_and_nothing_is_posted() -> None:
    make_one()
    (lease,) = claim()
    assert complete(lease, ReplyOutcome.ABANDONED) == 0
    assert AgentRequest.objects.count() == 0
    assert AgentReply.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.pattern("A5")
@pytest.mark.parametrize("outcome", ["done", "refused", "failed"])
def test_after_complete_by_nothing_is_posted_not_even_an_error(outcome: str) -> None:
    request = make_one()
    (lease,) = claim()
    # Past by the database's clock, which goes on, and not yet by now(), which stands still (trap 6).
    AgentRequest.objects.filter(pk=request.pk).update(complete_by=database_now())
    assert complete(lease, outcome) == 0
    assert AgentReply.objects.count() == 0
    assert AgentRequest.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.pattern("A4", "A5")
def test_of_several_answers_only_those_in_time_by_their_holder_are_posted(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    requests_made = [make_one() for _ in range(5)]
    claimed = claim()
    in_time, late, given_up, fenced, foreign = claimed
    AgentRequest.objects.filter(pk=late.id).update(complete_by=ago(1))
    AgentRequest.objects.filter(pk=fenced.id).update(deliveries=2)
    AgentRequest.objects.filter(pk=foreign.id).update(leased_by="agents:2")
    with django_assert_num_queries(1):
        posted = leases.complete(
            [
                Answer(one.id, one.deliveries, ReplyOutcome.ABANDONED if one is given_up else "done", "{}", 1)
                for one in claimed
            ],
            me=ME,
        )
    assert posted == 1
    assert AgentReply.objects.get().step_id == requests_made[0].step_id
    assert in_time.id == requests_made[0].pk
    assert set(AgentRequest.objects.values_list("pk", flat=True)) == {fenced.id, foreign.id}


# --- leases that lapse


@pytest.mark.django_db
@pytest.mark.pattern("A5", "A7", "T6")
@pytest.mark.parametrize("next_holder", ["agents:2", ME], ids=["another", "itself"])
def test_the_former_holder_of_a_lapsed_lease_changes_nothing(next_holder: str) -> None:
    """I4, P3: the number of the delivery is the fence, also where an instance was given its own request again."""
    request = make_one()
    (former,) = claim()
    AgentRequest.objects.filter(pk=request.pk).update(leased_until=ago(1))
    assert leases.free_lapsed() == 1
    (lease,) = claim(me=next_holder)
    assert (lease.id, lease.deliveries) == (request.pk, 2)
    before = stored(request)
    assert complete(former) == 0
    assert leases.renew([(former.id, former.deliveries)], me=ME, seconds=100.0) == set()
    assert leases.release([(former.id, former.deliveries)], me=ME) == 0
    assert stored(request) == before
    assert AgentReply.objects.count() == 0
    assert complete(lease, me=next_holder) == 1


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_a_lease_that_was_freed_cannot_be_completed_by_who_had_it() -> None:
    request = make_one()
    (former,) = claim()
    AgentRequest.objects.filter(pk=request.pk).update(leased_until=ago(1))
    leases.free_lapsed()
    before = stored(request)
    assert complete(former) == 0
    assert leases.renew([(former.id, former.deliveries)], me=ME, seconds=100.0) == set()
    assert leases.release([(former.id, former.deliveries)], me=ME) == 0
    assert stored(request) == before


@pytest.mark.django_db
def test_only_leases_that_have_lapsed_are_freed() -> None:
    lapsed = make_one(leased_by=ME, leased_until=ago(1), deliveries=1)
    # past by the database's clock, not by now() (trap 6)
    just_lapsed = make_one(leased_by=ME, leased_until=database_now(), deliveries=1)
    others = [make_one(leased_by=ME, leased_until=ahead(1), deliveries=1), make_one()]
    before = [stored(request) for request in others]
    assert leases.free_lapsed() == 2
    assert leases.free_lapsed() == 0
    for request in (lapsed, just_lapsed):
        request.refresh_from_db()
        assert (request.leased_by, request.leased_until, request.deliveries) == (None, None, 1)
    assert [stored(request) for request in others] == before


def test_a_lease_that_is_being_answered_at_this_moment_is_not_freed(new_session: NewSession) -> None:
    request = make_one(leased_by=ME, leased_until=ago(1), deliveries=1)
    holder, other = new_session(), new_session()
    holder.begin()
    answer = Answer(request.pk, 1, "done", "{}", 1)
    assert holder.do(lambda: leases.complete([answer], me=ME)) == 1
    assert other.do(leases.free_lapsed) == 0
    holder.commit()
    assert AgentReply.objects.count() == 1


def test_a_lease_that_was_renewed_between_choice_and_lock_is_not_freed(new_session: NewSession) -> None:
    request = make_one(leased_by=ME, leased_until=ago(1), deliveries=1)
    with held(new_session(), leases.free_lapsed, at="leased_until <") as freed:
        assert leases.renew([(request.pk, 1)], me=ME, seconds=8.0) == {(request.pk, 1)}
    assert freed.result(timeout=PATIENCE) == 0
    assert AgentRequest.objects.get().leased_by == ME


@pytest.mark.django_db
def test_a_renewal_confirms_only_what_is_still_held() -> None:
    mine, foreign, again = make_one(), make_one(), make_one()
    held_by_me = [(lease.id, lease.deliveries) for lease in claim()]
    AgentRequest.objects.filter(pk=foreign.pk).update(leased_by="agents:2")
    AgentRequest.objects.filter(pk=again.pk).update(deliveries=2)
    before = [stored(foreign), stored(again)]
    now = database_now()
    assert leases.renew([*held_by_me, (0, 1)], me=ME, seconds=60.0) == {(mine.pk, 1)}
    mine.refresh_from_db()
    assert mine.leased_until is not None
    assert 60.0 < (mine.leased_until - now).total_seconds() < 61.0
    assert [stored(foreign), stored(again)] == before


@pytest.mark.django_db
def test_what_is_given_back_can_be_claimed_at_once_and_stays_counted() -> None:
    request, kept = make_one(), make_one()
    first, second = claim()
    assert leases.release([(first.id, first.deliveries)], me=ME) == 1
    (again,) = claim(me="agents:2")
    assert (again.id, again.deliveries) == (request.pk, 2)
    assert second.id == kept.pk
    assert requests.recall([request.step_id]) == set()


TOUCHES: dict[str, Callable[[AgentRequest], object]] = {
    "complete": lambda request: leases.complete([Answer(request.pk, 1, "done", "{}", 1)], me=ME),
    "renew": lambda request: leases.renew([(request.pk, 1)], me=ME, seconds=8.0),
    "release": lambda request: leases.release([(request.pk, 1)], me=ME),
    "discard": lambda request: requests.discard([request.step_id]),
}


def held_one() -> AgentRequest:
    return make_one(leased_by=ME, leased_until=ahead(8), deliveries=1)


@pytest.mark.pattern("A2", "A4")
@pytest.mark.parametrize("touch", TOUCHES)
def test_a_request_whose_lease_is_being_renewed_can_still_be_answered_or_given_back(
    new_session: NewSession, touch: str
) -> None:
    """A host renews in one thread while it answers in another: the row has changed, and the lease is the same."""
    request, untouched = held_one(), held_one()
    care, other = new_session(), new_session()
    care.begin()
    assert care.do(lambda: leases.renew([(request.pk, 1)], me=ME, seconds=60.0)) == {(request.pk, 1)}
    touched = other.start(lambda: TOUCHES[touch](request))
    other.await_wait()
    care.commit()
    said = {"complete": 1, "renew": {(request.pk, 1)}, "release": 1, "discard": None}
    assert touched.result(timeout=PATIENCE) == said[touch]
    left = set(AgentRequest.objects.filter(leased_by=ME).values_list("pk", flat=True))
    assert left == ({request.pk, untouched.pk} if touch == "renew" else {untouched.pk})
    assert AgentReply.objects.count() == (touch == "complete")
    assert AgentRequest.objects.filter(pk=request.pk).exists() == (touch in ("renew", "release"))


@pytest.mark.pattern("A5", "A7")
@pytest.mark.parametrize("touch", ["complete", "renew", "release"])
@pytest.mark.parametrize("next_holder", ["agents:2", ME], ids=["another", "itself"])
def test_a_request_that_changes_hands_while_its_former_holder_waits_for_it_stays_with_the_next(
    new_session: NewSession, touch: str, next_holder: str
) -> None:
    """P3, forced: the former holder read the row while it was still its own."""
    request = held_one()
    thief, former = new_session(), new_session()
    thief.begin()
    taken = {"leased_by": next_holder, "leased_until": ahead(60), "deliveries": 2}
    thief.do(lambda: AgentRequest.objects.filter(pk=request.pk).update(**taken))
    touched = former.start(lambda: TOUCHES[touch](request))
    former.await_wait()
    thief.commit()
    assert touched.result(timeout=PATIENCE) == {"complete": 0, "renew": set(), "release": 0}[touch]
    stands = AgentRequest.objects.values("leased_by", "leased_until", "deliveries").get()
    assert stands == taken
    assert AgentReply.objects.count() == 0


@pytest.mark.pattern("A2")
@pytest.mark.parametrize("busy", [1, 2], ids=["the second is busy", "the third is busy"])
@pytest.mark.parametrize("meanwhile", ["renewal", "discard"])
def test_answering_never_deadlocks_with_what_else_touches_the_same_requests(
    new_session: NewSession, meanwhile: str, busy: int, switched_off: tuple[str, ...]
) -> None:
    """A host answers in one thread and renews in another; a scheduler discards what it is going to ask again.

    The answers wait with some of their requests locked; the other act wants those and some that the answers still need.
    """
    steps = [step_of(make_order({"mix": "running"}), "mix") for _ in range(3)]
    leased = {"leased_by": ME, "leased_until": ahead(8), "deliveries": 1}
    # The later the request the earlier its step: an index on either gives another order.
    made = [make_request(step, **leased) for step in reversed(steps)]
    answers = [Answer(made[n].pk, 1, "done", "{}", 1) for n in (1, 2, 0)]
    wanted = [made[n] for n in (0, 1, 2) if n != busy]
    others: dict[str, Callable[[], object]] = {
        "renewal": lambda: leases.renew([(request.pk, 1) for request in wanted], me=ME, seconds=8.0),
        "discard": lambda: requests.discard([request.step_id for request in wanted]),
    }

    def planned(act: Callable[[], object]) -> Callable[[], object]:
        def in_transaction() -> object:
            with transaction.atomic():
                switch_off(switched_off)
                return act()

        return in_transaction

    exchange, other, blocker = new_session(), new_session(), new_session()
    blocker.begin()
    blocker.do(lambda: run("SELECT 1 FROM orders_agentrequest WHERE id = %s FOR UPDATE", [made[busy].pk]))
    answered = exchange.start(planned(lambda: leases.complete(answers, me=ME)))
    exchange.await_wait()
    touched = other.start(planned(others[meanwhile]))
    until(lambda: touched.done() or other.is_waiting(), what="the other's turn")
    blocker.commit()
    failures = [future.exception(timeout=PATIENCE) for future in (answered, touched)]
    assert failures == [None, None]


# --- suspects


@pytest.mark.django_db
@pytest.mark.pattern("A7")
def test_a_request_that_was_delivered_twice_unanswered_is_run_alone() -> None:
    """F28: it may be what kills its hosts."""
    poison = make_one()
    for me in ("agents:1", "agents:2"):
        assert not leases.has_suspects(["kitchen"])
        assert ids(claim(me=me)) == [poison.pk]
        AgentRequest.objects.update(leased_until=ago(1))
        assert leases.free_lapsed() == 1
    other, ordinary = make_one(deliveries=2, priority=9), make_one()
    assert leases.has_suspects(["oven", "kitchen"])
    assert not leases.has_suspects(["oven"])
    assert not leases.has_suspects([])
    assert ids(claim()) == [ordinary.pk]
    assert leases.claim_suspect(agents=["oven"], me=ME, seconds=8.0) == []
    (lease,) = leases.claim_suspect(agents=["oven", "kitchen"], me=ME, seconds=8.0)
    assert (lease.id, lease.deliveries) == (poison.pk, 3)
    assert ids(leases.claim_suspect(agents=["kitchen"], me=ME, seconds=8.0)) == [other.pk]
    assert leases.claim_suspect(agents=["kitchen"], me=ME, seconds=8.0) == []
    assert not leases.has_suspects(["kitchen"])
    assert complete(lease) == 1


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_a_suspect_past_its_complete_by_is_not_run() -> None:
    make_one(deliveries=2, complete_by=database_now())
    assert leases.claim_suspect(agents=["kitchen"], me=ME, seconds=8.0) == []


def test_two_hosts_never_run_the_same_suspect(new_session: NewSession) -> None:
    first, second = make_one(deliveries=2), make_one(deliveries=2)
    one, other = new_session(), new_session()

    def suspect() -> list[int]:
        return ids(leases.claim_suspect(agents=["kitchen"], me=ME, seconds=8.0))

    one.begin()
    other.begin()
    assert one.do(suspect) == [first.pk]
    assert other.do(suspect) == [second.pk]


@pytest.mark.django_db
def test_no_plan_makes_a_suspect_come_in_company(switched_off: tuple[str, ...]) -> None:
    many(100, deliveries=2)
    switch_off(switched_off)
    assert len(leases.claim_suspect(agents=["kitchen", "oven"], me=ME, seconds=8.0)) == 1
    assert AgentRequest.objects.filter(leased_by=ME).count() == 1


# --- requests that nobody may answer any more


@pytest.mark.django_db
@pytest.mark.pattern("A5")
def test_only_what_is_free_and_past_its_complete_by_is_deleted() -> None:
    make_one(complete_by=ago(2))
    kept = [
        make_one(complete_by=ago(60), leased_by=ME, leased_until=ahead(5), deliveries=1),
        make_one(complete_by=database_now()),
        make_one(),
    ]
    assert leases.delete_expired() == 1
    assert set(AgentRequest.objects.values_list("pk", flat=True)) == {request.pk for request in kept}


def test_neither_freeing_nor_deleting_waits_for_anybody(new_session: NewSession) -> None:
    lapsed = make_one(leased_by=ME, leased_until=ago(1), deliveries=1)
    expired = make_one(complete_by=ago(60))
    one, other = new_session(), new_session()
    one.begin()
    one.do(lambda: run("SELECT 1 FROM orders_agentrequest FOR UPDATE"))
    assert other.do(leases.free_lapsed) == 0
    assert other.do(leases.delete_expired) == 0
    one.commit()
    assert other.do(leases.free_lapsed) == 1
    assert other.do(leases.delete_expired) == 1
    assert list(AgentRequest.objects.values_list("pk", flat=True)) == [lapsed.pk]
    assert expired.pk != lapsed.pk


@pytest.mark.django_db
def test_no_plan_makes_freeing_and_deleting_exceed_their_limit(switched_off: tuple[str, ...]) -> None:
    """F30: ten thousand that lapse in one second are freed in bounded transactions."""
    many(600, leased_by="agents:9", leased_until=ago(1), deliveries=1)
    switch_off(switched_off)
    assert leases.free_lapsed() == 500
    assert leases.free_lapsed() == 100
    AgentRequest.objects.update(complete_by=ago(60))
    assert leases.delete_expired() == 500
    assert leases.delete_expired() == 100
