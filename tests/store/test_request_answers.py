"""The request queue, agents' side: only the holder of a lease may answer, in time."""

import json

import pytest
from pytest_django import DjangoAssertNumQueries

from orders.engine.channels import leases, replies
from orders.engine.channels.leases import Answer
from orders.engine.runtime.sql import database_now
from orders.models import AgentReply, AgentRequest
from orders.vocabulary import ReplyOutcome
from tests.support.factories import ago
from tests.support.requests import ME, claim, complete, ids, make_one


@pytest.mark.django_db
@pytest.mark.pattern("A4", "A6", "T5")
@pytest.mark.parametrize("outcome", ["done", "refused", "declined", "failed"])
def test_an_answer_in_time_replaces_the_request_by_its_reply(outcome: str) -> None:
    request = make_one(attempt=3, compensates=True)
    other = make_one()
    first, second = claim()
    body = {"id": "há", "deep": [1, None, {"a": 2.5}]}
    assert complete(first, outcome, body=json.dumps(body), calls=4) == 1
    reply = AgentReply.objects.get()
    assert (reply.order_id, reply.step_id, reply.attempt, reply.compensates) == (
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
def test_a_reply_says_what_was_sent_and_answered_unless_its_host_does_not() -> None:
    for _ in range(2):
        make_one()
    with_exchange, without = claim()
    exchange = {"status": 201, "answered": {"server": "há"}}
    leases.complete([Answer(with_exchange.id, 1, "done", "{}", 1, 0.5, exchange)], me=ME)
    complete(without)
    taken = replies.take_all_of([with_exchange.order_id, without.order_id])
    assert [reply.exchange and json.loads(reply.exchange) for reply in taken] == [exchange, None]


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_a_reply_says_how_long_its_request_waited_and_how_long_the_agent_had_it() -> None:
    created = [make_one(posted_at=ago(seconds)) for seconds in (10, 1)]
    claimed = claim()
    assert ids(claimed) == [request.pk for request in created]
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
def test_only_timely_answers_by_the_holder_of_the_lease_are_posted(
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
                Answer(
                    lease.id,
                    lease.deliveries,
                    ReplyOutcome.ABANDONED if lease is given_up else "done",
                    "{}",
                    1,
                )
                for lease in claimed
            ],
            me=ME,
        )
    assert posted == 1
    assert AgentReply.objects.get().step_id == requests_made[0].step_id
    assert in_time.id == requests_made[0].pk
    assert set(AgentRequest.objects.values_list("pk", flat=True)) == {fenced.id, foreign.id}
