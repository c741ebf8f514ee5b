"""A reader of a customer's feed misses nothing and sees nothing twice, whatever other transactions are open."""

import random
from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from uuid_utils.compat import uuid7

from orders import wiring
from orders.engine import state_store
from orders.engine.channels import submissions
from orders.engine.rows import Actor, EventRow
from orders.engine.runtime.sql import database_now, fetch, run
from orders.engine.state_store.feed import EPOCH_BITS, begin_epoch, epoch
from orders.models import Event, FeedEpoch, SetAside
from orders.selectors import changes
from orders.selectors.changes import FeedPoint, FeedReader
from orders.services.order_changes import compensate_order, replay_submission
from orders.vocabulary import ActorKind, EventKind
from tests.support.factories import make_order, make_purchase
from tests.support.two_sessions import NewSession, all_at_once
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

ME = Actor(ActorKind.SCHEDULER, "scheduler:test")
START = FeedPoint(0, 0)


@pytest.fixture
def ada(db: None) -> User:
    begin_epoch()
    return User.objects.create_user("ada")


def order_of(customer: User | None) -> UUID:
    order_id: UUID = make_order().pk
    make_purchase(order_id, customer=customer)
    return order_id


def happen(*order_ids: UUID, step: str = "") -> None:
    state_store.record_events(
        [EventRow(order_id, EventKind.STEP_STARTED, ME, step) for order_id in order_ids]
    )


class Reader:
    """A program that stores where it is, and reads pages of two changes."""

    def __init__(self, customer: User, point: FeedPoint = START) -> None:
        self.customer, self.point = customer, point
        self.read: list[tuple[UUID, str]] = []

    def look(self) -> list[str]:
        """The steps of all changes that have come since."""
        steps: list[str] = []
        while True:
            page = changes.changes(
                customer_id=self.customer.pk, after=self.point, limit=2, mark=changes.look()
            )
            steps += [change.event.step for change in page.changes]
            self.read += [(change.order_id, change.event.step) for change in page.changes]
            self.point = page.until
            if not page.has_more:
                return steps


def test_a_change_with_a_lower_id_that_commits_later_is_not_missed(
    ada: User, new_session: NewSession
) -> None:
    slow, order_ids = new_session(), [order_of(ada), order_of(ada)]
    reader = Reader(ada)
    slow.begin()
    slow.do(lambda: happen(order_ids[0], step="slow"))
    happen(order_ids[1], step="quick")
    assert reader.look() == []
    assert changes.changed([FeedReader(ada.pk, *reader.point)]) == (set(), False)
    slow.commit()
    watched = FeedReader(ada.pk, *reader.point)
    until(lambda: changes.changed([watched]) == ({watched}, True), what="the changes", seconds=30)
    assert list(Event.objects.order_by("id").values_list("step", flat=True)) == ["slow", "quick"]
    assert sorted(reader.look()) == ["quick", "slow"]
    assert reader.look() == []
    assert changes.changed([FeedReader(ada.pk, *reader.point)]) == (set(), True)


def test_what_is_rolled_back_holds_nothing_up(ada: User, new_session: NewSession) -> None:
    slow, order_ids = new_session(), [order_of(ada), order_of(ada)]
    reader = Reader(ada)
    slow.begin()
    slow.do(lambda: happen(order_ids[0], step="never"))
    happen(order_ids[1], step="quick")
    slow.rollback()
    assert reader.look() == ["quick"]


def test_an_order_has_its_changes_in_order_whoever_began_first(ada: User, new_session: NewSession) -> None:
    """The second change is by the transaction with the lower number, and a third transaction lies between the two."""
    late, between, early = new_session(), new_session(), new_session()
    contested, other = order_of(ada), order_of(ada)
    for session in (late, between, early):
        session.begin()
        session.do(lambda: fetch("SELECT pg_current_xact_id()"))
    reader = Reader(ada)
    early.do(lambda: happen(contested, step="first"))
    between.do(lambda: happen(other, step="between"))
    early.commit()
    late.do(lambda: happen(contested, step="second"))
    assert reader.look() == []
    late.commit()
    before = reader.look()
    between.commit()
    steps = before + reader.look()
    assert sorted(steps) == ["between", "first", "second"]
    assert steps.index("first") < steps.index("second")


def test_a_transaction_that_writes_no_event_holds_nobody_up(ada: User, new_session: NewSession) -> None:
    """Such as a long report, the building of an index, or what another application does on this server."""
    long, order_id = new_session(), order_of(ada)
    long.begin()
    long.do(lambda: fetch("SELECT pg_current_xact_id()"))
    happen(order_id, step="first")
    reader = Reader(ada)
    assert reader.look() == ["first"]
    long.do(lambda: happen(order_id, step="late"))
    assert reader.look() == []
    long.commit()
    assert reader.look() == ["late"]


def test_many_writers_and_a_reader_who_never_rests(ada: User) -> None:
    order_ids = [order_of(ada) for _ in range(6)]
    reader, writers, each = Reader(ada), 4, 30
    done: list[int] = []

    def write(number: int) -> None:
        chance = random.Random(number)
        for turn in range(each):
            pair = sorted(chance.sample(order_ids, 2))
            with transaction.atomic():
                if chance.random() < 0.5:
                    fetch("SELECT pg_current_xact_id()")
                for order_id in pair:
                    fetch("SELECT FROM orders_orderprocess WHERE order_id = %s FOR UPDATE", [order_id])
                    happen(order_id, step=f"{number}.{turn}")
        done.append(number)

    def act(number: int) -> None:
        if number < writers:
            write(number)
        else:
            until(lambda: reader.look() is None or len(done) == writers, what="the writers")

    all_at_once(writers + 1, act)
    reader.look()
    expected = list(Event.objects.order_by("id").values_list("order_id", "step"))
    assert len(expected) == 2 * writers * each
    assert sorted(reader.read) == sorted(expected)
    for order_id in order_ids:
        assert [row for row in reader.read if row[0] == order_id] == [
            row for row in expected if row[0] == order_id
        ]


def test_each_customer_reads_her_own_changes(ada: User) -> None:
    bob = User.objects.create_user("bob")
    happen(order_of(ada), step="hers")
    happen(order_of(bob), step="his")
    happen(order_of(None), step="a guest's")
    assert Reader(ada).look() == ["hers"]
    assert Reader(bob).look() == ["his"]
    page = changes.changes(customer_id=0, after=START, limit=9, mark=changes.look())
    assert page.changes == []
    assert changes.changed([FeedReader(0, 0, 0)]) == (set(), True)


@pytest.mark.parametrize("point", [START, FeedPoint(1, 2)])
def test_a_reader_without_changes_moves_on(ada: User, point: FeedPoint) -> None:
    page = changes.changes(customer_id=ada.pk, after=point, limit=9, mark=changes.look())
    assert (page.changes, page.has_more) == ([], False)
    assert changes.latest(changes.look()) >= page.until > point
    far = FeedPoint(changes.LAST_POSITION, 1)
    assert changes.changes(customer_id=ada.pk, after=far, limit=9, mark=changes.look()).until == far


def test_an_event_of_an_older_release_is_in_no_feed_and_the_next_one_is(ada: User) -> None:
    order_id = order_of(ada)
    old = {"order_id": order_id, "kind": "step_started", "actor_kind": "scheduler", "actor_name": "s"}
    Event.objects.create(**old, step="old")
    happen(order_id, step="new")
    assert Reader(ada).look() == ["new"]


def test_another_server_begins_another_epoch(ada: User, new_session: NewSession) -> None:
    order_id = order_of(ada)
    happen(order_id, step="before")
    reader, before = Reader(ada), epoch()
    reader.look()
    FeedEpoch.objects.update(cluster="another")
    after = epoch()
    assert (after.number, after.cluster) == (before.number + 1, before.cluster)
    assert epoch() == after
    # The restored rows have numbers that this server will give to transactions only much later.
    run("UPDATE orders_event SET position = position + 1000000")
    reader.point = FeedPoint(reader.point.position + 1_000_000, 0)
    happen(order_id, step="after")
    assert reader.look() == ["after"]
    assert Event.objects.get(step="after").position >> EPOCH_BITS == after.number


def test_an_epoch_begins_when_nobody_writes_in_the_one_before(ada: User, new_session: NewSession) -> None:
    writer, beginner, order_id = new_session(), new_session(), order_of(ada)
    writer.begin()
    writer.do(lambda: happen(order_id, step="before"))
    FeedEpoch.objects.update(cluster="another")
    number = FeedEpoch.objects.get().number
    beginning = beginner.start(begin_epoch)
    beginner.await_wait()
    assert FeedEpoch.objects.get().number == number
    writer.commit()
    beginning.result(timeout=30)
    assert FeedEpoch.objects.get().number == number + 1
    assert Event.objects.get().position >> EPOCH_BITS == number


def test_an_epoch_begins_once(ada: User) -> None:
    FeedEpoch.objects.update(cluster="another")
    number = FeedEpoch.objects.get().number
    assert {seen.number for seen in all_at_once(4, lambda _: epoch())} == {number + 1}


@pytest.mark.parametrize("days", [0.5, 3, 40])
def test_a_reader_can_begin_at_a_time(ada: User, days: float) -> None:
    order_id, now = order_of(ada), database_now()
    for age in (50, 20, 10, 5, 2, 1):
        happen(order_id, step=str(age))
        Event.objects.filter(step=str(age)).update(at=now - timedelta(days=age))
    begin = changes.point_at(ada.pk, now - timedelta(days=days))
    expected = [str(age) for age in (50, 20, 10, 5, 2, 1) if age < days]
    assert Reader(ada, begin).look() == expected


CLIENTS = ("user:{}", "guest", "user:{}x", "user:", "user:2147483648")


def test_what_happens_to_a_submission_is_in_the_feed_of_its_client(ada: User) -> None:
    """Also before it is inserted, and if it never is."""
    order_ids = {name.format(ada.pk): uuid7() for name in CLIENTS}
    for client, order_id in order_ids.items():
        submissions.post(order_id=order_id, client=client, body={})
    wiring.submission().run_once()
    assert SetAside.objects.count() == len(CLIENTS)
    submissions_set_aside = dict(SetAside.objects.values_list("client", "id"))
    replay_submission(set_aside_id=submissions_set_aside[f"user:{ada.pk}"], by="operator:x")
    compensate_order(order_id=order_ids[f"user:{ada.pk}"], by="operator:x")
    feed = changes.changes(customer_id=ada.pk, after=START, limit=9, mark=changes.look()).changes
    assert [change.event.kind for change in feed] == ["set_aside", "replayed", "compensation_requested"]
    assert {change.order_id for change in feed} == {order_ids[f"user:{ada.pk}"]}
    others = Event.objects.exclude(order_id=order_ids[f"user:{ada.pk}"])
    assert set(others.values_list("customer_id", flat=True)) == {0}


def test_the_largest_account_has_a_feed(db: None) -> None:
    begin_epoch()
    largest = 2**31 - 1
    submissions.post(order_id=uuid7(), client=f"user:{largest}", body={})
    wiring.submission().run_once()
    (change,) = changes.changes(customer_id=largest, after=START, limit=9, mark=changes.look()).changes
    assert change.event.kind == "set_aside"
