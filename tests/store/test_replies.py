"""The reply queue and the response queues: nothing is read twice, nothing is lost, and nobody waits (C5, Q3)."""

import json
from collections.abc import Callable, Sequence
from uuid import UUID

import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries
from uuid_utils.compat import uuid7

from orders.engine.channels import replies, status, status_leases
from orders.engine.channels.status import Status
from orders.engine.rows import ReplyRow
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.role import Scheduler
from orders.models import AgentReply, StatusMessage
from orders.vocabulary import StatusKind
from tests.support.factories import make_order, make_reply, step_of
from tests.support.two_sessions import Session, all_at_once, switch_off
from tests.support.workflows import CAKE, CAKES

NewSession = Callable[[], Session]


def post_replies(number: int) -> list[tuple[int, UUID]]:
    created = AgentReply.objects.bulk_create(
        AgentReply(order_id=uuid7(), step_id=n, attempt=1, outcome="done", body={}, instance="agents:1")
        for n in range(number)
    )
    return [(reply.pk, reply.order_id) for reply in created]


def take(reply_ids: Sequence[int]) -> list[ReplyRow]:
    """Reads replies and deletes them, as a pass does."""
    taken = replies.send_read(reply_ids).result()
    replies.delete(reply_ids)
    return taken


@pytest.mark.django_db
@pytest.mark.pattern("C5", "T5")
def test_a_reply_is_taken_completely_with_its_body_as_the_agent_sent_it() -> None:
    order = make_order({"mix": "running", "box": "compensating"}, goal="compensate")
    body = {"id": "há", "deep": [{"a": None}, 1.5, 12345678901234567890]}
    completed = make_reply(step_of(order, "mix"), body=body, calls=4, instance="agents:7")
    compensated = make_reply(step_of(order, "box"), "failed", body={})
    taken = take([compensated.pk, completed.pk])
    assert [reply.id for reply in taken] == [completed.pk, compensated.pk]
    fields = {
        name: getattr(completed, name) for name in ReplyRow._fields if name not in ("body", "posted_at")
    }
    assert {name: value for name, value in taken[0]._asdict().items() if name in fields} == fields
    assert json.loads(taken[0].body) == body
    assert taken[0].posted_at is not None
    assert (taken[1].compensates, taken[1].outcome, taken[1].attempt) == (True, "failed", 2)
    assert AgentReply.objects.count() == 0
    assert take([completed.pk]) == []
    assert take([]) == []


@pytest.mark.django_db
def test_a_peek_shows_the_oldest_and_takes_nothing() -> None:
    posted = post_replies(5)
    assert replies.peek(3) == posted[:3]
    assert replies.peek(10) == posted
    assert take([posted[1][0]])[0].order_id == posted[1][1]
    assert replies.peek(10) == [posted[0], *posted[2:]]


@pytest.mark.django_db
def test_all_replies_about_one_order_are_taken_and_no_others() -> None:
    order, other = make_order({"mix": "running", "box": "running"}), make_order({"mix": "running"})
    own = {make_reply(step_of(order, name)).pk for name in ("mix", "box")}
    other_reply = make_reply(step_of(other, "mix"))
    assert {reply.id for reply in replies.take_all_of([order.order_id])} == own
    assert list(AgentReply.objects.values_list("pk", flat=True)) == [other_reply.pk]


@pytest.mark.pattern("C3")
def test_two_schedulers_peek_at_different_replies_without_waiting(new_session: NewSession) -> None:
    posted = post_replies(5)
    session, other = new_session(), new_session()
    session.begin()
    other.begin()
    assert session.do(lambda: replies.peek(2)) == posted[:2]
    assert other.do(lambda: replies.peek(10)) == posted[2:]
    session.rollback()
    assert other.do(lambda: replies.peek(10)) == posted


@pytest.mark.django_db
@pytest.mark.pattern("C6", "C9")
@pytest.mark.parametrize("whose", ["of no order", "of a workflow version that is not known here"])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_replies_that_cannot_be_taken_hold_up_no_other(whose: str, number: int) -> None:
    """The orders may be gone (retention, F35) or a newer release's (F32): whole batches of such replies come first."""
    if whose == "of no order":
        post_replies(number)
    else:
        for _ in range(number):
            newer = make_order({"mix": "running"}, process_state="processing", version=CAKE.version + 1)
            make_reply(step_of(newer, "mix"))
    order = make_order({"mix": "running"}, process_state="processing")
    make_reply(step_of(order, "mix"))
    scheduler = Scheduler(config=SchedulerConfig(instance="scheduler:1", batch=2), workflows=CAKES)
    passes = [scheduler.run_once() for _ in range(number + 3)]
    assert step_of(order, "mix").state == "completed"
    assert AgentReply.objects.count() == (0 if whose == "of no order" else number)
    assert not passes[-1].busy  # otherwise it would look again a hundred times a second


@pytest.mark.django_db
def test_a_peek_can_go_on_where_the_last_one_ended() -> None:
    posted = post_replies(5)
    assert replies.peek(2, start=posted[2][0]) == posted[2:4]
    assert replies.peek(9, start=posted[4][0] + 1) == []


def test_only_replies_about_orders_that_are_gone_are_deleted(new_session: NewSession) -> None:
    reply = make_reply(step_of(make_order({"mix": "running"}), "mix"))
    orphans = post_replies(2)
    session, other = new_session(), new_session()
    session.begin()
    session.do(lambda: replies.peek(2))
    assert other.do(replies.delete_orphans) == 1
    assert set(AgentReply.objects.values_list("pk", flat=True)) == {reply.pk, orphans[0][0]}
    session.commit()
    assert other.do(replies.delete_orphans) == 1
    assert other.do(replies.delete_orphans) == 0
    assert AgentReply.objects.get() == reply


@pytest.mark.django_db
def test_no_plan_makes_a_peek_exceed_its_limit(switched_off: tuple[str, ...]) -> None:
    posted = post_replies(60)
    switch_off(switched_off)
    assert replies.peek(7) == posted[:7]


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("C3", "T6")
def test_eight_schedulers_take_every_reply_exactly_once() -> None:
    posted = post_replies(200)

    def take_until_none_is_left(_: int) -> list[int]:
        taken: list[int] = []
        while True:
            with transaction.atomic():
                rows = take([reply_id for reply_id, _ in replies.peek(7)])
            taken += [row.id for row in rows]
            if not rows:
                return taken

    by_scheduler = all_at_once(8, take_until_none_is_left)
    assert sum(map(len, by_scheduler)) == 200
    assert set().union(*by_scheduler) == {reply_id for reply_id, _ in posted}


@pytest.mark.django_db
@pytest.mark.pattern("Q2", "Q3")
def test_a_status_message_goes_to_the_applications_own_queue_with_the_order_id(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    orders = [uuid7() for _ in range(3)]
    messages = [
        Status("app-1", orders[0], StatusKind.RECEIVED),
        Status("", orders[1], StatusKind.RECEIVED),
        Status("app-2", orders[2], StatusKind.FAILED, {"step": "há", "code": None}),
        Status("app-1", orders[0], StatusKind.COMPLETED),
    ]
    with django_assert_num_queries(1):
        status.post(iter(messages))
    assert list(StatusMessage.objects.order_by("id").values_list("queue", "order_id", "kind", "body")) == [
        ("app-1", orders[0], "received", {}),
        ("app-2", orders[2], "failed", {"step": "há", "code": None}),
        ("app-1", orders[0], "completed", {}),
    ]


@pytest.mark.django_db
@pytest.mark.pattern("Q2")
def test_no_status_message_takes_no_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        status.post([Status("", uuid7(), StatusKind.RECEIVED)])
        status.post([])


@pytest.mark.django_db
@pytest.mark.pattern("Q2")
def test_a_message_is_deleted_from_its_own_queue_only() -> None:
    status.post([Status(queue, uuid7(), StatusKind.RECEIVED) for queue in ("app-1", "app-2")])
    first, second = StatusMessage.objects.order_by("id")
    assert not status_leases.delete(queue="app-2", message_id=first.pk)
    assert status_leases.delete(queue="app-1", message_id=first.pk)
    assert not status_leases.delete(queue="app-1", message_id=first.pk)
    assert StatusMessage.objects.get() == second
